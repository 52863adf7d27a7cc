;;; Libraries of a few lines: SRFI 2, 8, 111 and 145, and (tein uuid).

(define-syntax and-let*
  (syntax-rules ()
    ((_ ()) #t)
    ((_ () body ...) (let () body ...))
    ((_ ((name value))) value)
    ((_ ((value))) value)
    ((_ (name)) name)
    ((_ ((name value) . others) . body) (let ((name value)) (if name (and-let* others . body) #f)))
    ((_ ((value) . others) . body) (if value (and-let* others . body) #f))
    ((_ (name . others) . body) (if name (and-let* others . body) #f))))

(define-syntax receive
  (syntax-rules ()
    ((_ formals expression body ...) (call-with-values (lambda () expression) (lambda formals body ...)))))

(define-record-type <box> (box value) box? (value unbox set-box!))

(define-syntax assume
  (syntax-rules ()
    ((_ expression irritant ...) (or expression (error "an assumption does not hold" 'expression irritant ...)))
    ((_) (syntax-error "assume needs an expression"))))

(define uuid-nil "00000000-0000-0000-0000-000000000000")

(define (make-uuid)
  (string-map (lambda (sign)
                (case sign
                  ((#\x) (string-ref "0123456789abcdef" (random-integer 16)))
                  ((#\y) (string-ref "89ab" (random-integer 4)))
                  (else sign)))
              "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx"))

(define (uuid? value)
  (and (string? value)
       (= (string-length value) 36)
       (let loop ((at 0))
         (cond ((= at 36) #t)
               ((memv at '(8 13 18 23)) (and (char=? (string-ref value at) #\-) (loop (+ at 1))))
               ((memv (char-downcase (string-ref value at)) (string->list "0123456789abcdef")) (loop (+ at 1)))
               (else #f)))))
