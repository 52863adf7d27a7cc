;; Refuses `rm -rf`. An answer with "block" refuses the call; an error refuses as well.
(import (harness hooks) (srfi 130))

(register-hook 'pre_tool
  (lambda (payload)
    (let ((command (assoc "command" (cdr (assoc "arguments" payload)))))
      (if (and command (string-contains (cdr command) "rm -rf"))
          '(("block" . #t) ("message" . "rm -rf is not allowed here"))
          '()))))
