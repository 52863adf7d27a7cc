;; Keeps git from opening a pager. The answer holds the new arguments; the empty list changes nothing.
(import (harness hooks))

(register-hook 'pre_tool
  (lambda (payload)
    (let ((command (assoc "command" (cdr (assoc "arguments" payload)))))
      (if (and command (equal? (cdr command) "git log"))
          '(("arguments" ("command" . "git --no-pager log")))
          '()))))
