;; Counts the tools that have run.
(import (harness hooks))

(define calls 0)

(register-hook 'post_tool
  (lambda (payload)
    (set! calls (+ calls 1))
    '()))
