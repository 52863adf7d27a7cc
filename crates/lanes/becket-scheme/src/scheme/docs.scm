;;; (tein docs): association lists from names to what they are for, with the library's own name under __module__.

(define (module-docs docs)
  (let loop ((rest docs) (kept '()))
    (cond ((null? rest) (reverse kept))
          ((eq? (caar rest) '__module__) (loop (cdr rest) kept))
          (else (loop (cdr rest) (cons (car rest) kept))))))

(define (module-doc docs name)
  (let ((entry (assq name docs)))
    (and entry (cdr entry))))

(define (describe docs)
  (let ((out (open-output-string)) (module (module-doc docs '__module__)))
    (if module
        (begin
          (write-string "(" out)
          (display module out)
          (write-string ")\n" out)))
    (for-each (lambda (entry)
                (write-string "  " out)
                (display (car entry) out)
                (write-string " — " out)
                (display (cdr entry) out)
                (newline out))
              (module-docs docs))
    (get-output-string out)))
