;;; (tein introspect): what can be imported, what is visible, and how it is called.

(define (available-modules) (%inspect 'libraries))
(define (imported-modules) (%inspect 'imported))
(define (module-exports name) (%inspect 'exports name))

(define (%starts-with? text prefix)
  (and (<= (string-length prefix) (string-length text))
       (string=? prefix (substring text 0 (string-length prefix)))))

(define (env-bindings . prefix)
  (let loop ((names (%inspect 'bindings)) (kept '()))
    (cond ((null? names) (reverse kept))
          ((or (null? prefix) (%starts-with? (symbol->string (caar names)) (car prefix)))
           (loop (cdr names) (cons (cons (caar names) (cadar names)) kept)))
          (else (loop (cdr names) kept)))))

(define (%module-of name)
  (let loop ((modules (available-modules)))
    (cond ((null? modules) #f)
          ((memq name (%exports-or-none (car modules))) (car modules))
          (else (loop (cdr modules))))))

;; A library that is a text says what it exports only when it is imported.
(define (%exports-or-none module)
  (guard (e (#t '()))
    (module-exports module)))

(define (binding-info name)
  (let ((found (assq name (%inspect 'bindings))))
    (and found
         (let ((arity (procedure-arity (cddr found))) (module (%module-of name)))
           (append (list (cons 'name name) (cons 'kind (cadr found)))
                   (if arity (list (cons 'arity arity)) '())
                   (if module (list (cons 'module module)) '()))))))

(define (describe-environment)
  (list (cons 'modules
              (map (lambda (module)
                     (list (cons 'name module) (cons 'exports (%exports-or-none module))))
                   (available-modules)))))

(define (describe-environment/text)
  (let ((out (open-output-string)))
    (write-string "What can be imported here:\n" out)
    (for-each (lambda (module)
                (display module out)
                (write-string " — " out)
                (let loop ((names (%exports-or-none module)) (first #t))
                  (if (pair? names)
                      (begin
                        (if (not first) (write-string " " out))
                        (display (car names) out)
                        (loop (cdr names) #f))))
                (newline out))
              (available-modules))
    (get-output-string out)))

(define introspect-docs
  '((__module__ . "tein introspect")
    (available-modules . "the libraries that can be imported")
    (imported-modules . "the libraries that somebody has imported")
    (module-exports . "the names that a library exports")
    (env-bindings . "the names that are visible, with their kinds; all, or those with a prefix")
    (binding-info . "name, kind, arity and library of a name")
    (procedure-arity . "(least . most) arguments of a procedure; #f for any number")
    (describe-environment . "all libraries and their names, as data")
    (describe-environment/text . "all libraries and their names, as text")))
