;;; (chibi match): patterns for data. A pattern becomes tests, with what to do if they hold and what if they do not.

(define-syntax match
  (syntax-rules ()
    ((_ value clause ...)
     (let ((v value))
       (%match-clauses v clause ...)))))

(define-syntax match-lambda
  (syntax-rules ()
    ((_ clause ...)
     (lambda (v) (%match-clauses v clause ...)))))

(define-syntax match-lambda*
  (syntax-rules ()
    ((_ clause ...)
     (lambda v (%match-clauses v clause ...)))))

(define-syntax match-let
  (syntax-rules ()
    ((_ ((pattern value) ...) . body)
     (match (list value ...) ((pattern ...) . body)))
    ((_ name ((pattern value) ...) . body)
     (letrec ((name (match-lambda* ((pattern ...) . body))))
       (name value ...)))))

(define-syntax match-let*
  (syntax-rules ()
    ((_ () . body) (let () . body))
    ((_ ((pattern value) . rest) . body)
     (match value (pattern (match-let* rest . body))))))

(define-syntax match-letrec
  (syntax-rules ()
    ((_ ((name value) ...) . body)
     (letrec ((name value) ...) . body))))

(define-syntax %match-clauses
  (syntax-rules (=>)
    ((_ v) (error "match: no pattern fits" v))
    ((_ v (pattern (=> again) . body) . clauses)
     (let ((again (lambda () (%match-clauses v . clauses))))
       (%match-one v pattern (let () . body) (again))))
    ((_ v (pattern . body) . clauses)
     (let ((next (lambda () (%match-clauses v . clauses))))
       (%match-one v pattern (let () . body) (next))))))

(define-syntax %match-one
  (syntax-rules ::: (_ quote quasiquote ? = and or not ... ___ ..1)
    ((m v _ yes no) yes)
    ((m v () yes no) (if (null? v) yes no))
    ((m v (quote datum) yes no) (if (equal? v 'datum) yes no))
    ((m v (quasiquote template) yes no) (%match-quasi v template yes no))
    ((m v (? test) yes no) (if (test v) yes no))
    ((m v (? test pattern :::) yes no)
     (if (test v) (%match-one v (and pattern :::) yes no) no))
    ((m v (= procedure pattern) yes no)
     (let ((w (procedure v))) (%match-one w pattern yes no)))
    ((m v (and) yes no) yes)
    ((m v (and pattern) yes no) (%match-one v pattern yes no))
    ((m v (and pattern . rest) yes no)
     (%match-one v pattern (%match-one v (and . rest) yes no) no))
    ((m v (or) yes no) no)
    ((m v (or pattern) yes no) (%match-one v pattern yes no))
    ((m v (or pattern . rest) yes no)
     (%match-names (pattern) (%match-or v (pattern . rest) yes no) ()))
    ((m v (not pattern) yes no) (%match-one v pattern no yes))
    ((m v (pattern ... . tail) yes no)
     (%match-names (pattern) (%match-many v pattern 0 tail yes no) ()))
    ((m v (pattern ___ . tail) yes no)
     (%match-names (pattern) (%match-many v pattern 0 tail yes no) ()))
    ((m v (pattern ..1 . tail) yes no)
     (%match-names (pattern) (%match-many v pattern 1 tail yes no) ()))
    ((m v (first . rest) yes no)
     (if (pair? v)
         (let ((a (car v)) (d (cdr v)))
           (%match-one a first (%match-one d rest yes no) no))
         no))
    ((m v #(pattern :::) yes no)
     (if (vector? v)
         (let ((items (vector->list v)))
           (%match-one items (pattern :::) yes no))
         no))
    ((m v atom yes no)
     (%match-name? atom (let ((atom v)) yes) (if (equal? v atom) yes no)))))

;; Whether a form is a name: only a name can be a pattern that takes anything.
(define-syntax %match-name?
  (syntax-rules ()
    ((_ (a . d) yes no) no)
    ((_ #(a ...) yes no) no)
    ((_ form yes no)
     (let-syntax ((test (syntax-rules ()
                          ((_ form y n) y)
                          ((_ other y n) n))))
       (test %something-else yes no)))))

;; All names of patterns, given to another macro as its last form.
(define-syntax %match-names
  (syntax-rules ::: (_ quote quasiquote ? = and or not ... ___ ..1)
    ((m () (k :::) names) (k ::: names))
    ((m (_ . more) k names) (%match-names more k names))
    ((m (() . more) k names) (%match-names more k names))
    ((m ((quote datum) . more) k names) (%match-names more k names))
    ((m ((quasiquote template) . more) k names) (%match-quasi-names (template) more k names))
    ((m ((? test pattern :::) . more) k names) (%match-names (pattern ::: . more) k names))
    ((m ((= procedure pattern) . more) k names) (%match-names (pattern . more) k names))
    ((m ((and pattern :::) . more) k names) (%match-names (pattern ::: . more) k names))
    ((m ((or pattern . rest) . more) k names) (%match-names (pattern . more) k names))
    ((m ((not pattern) . more) k names) (%match-names more k names))
    ((m ((pattern ... . tail) . more) k names) (%match-names (pattern tail . more) k names))
    ((m ((pattern ___ . tail) . more) k names) (%match-names (pattern tail . more) k names))
    ((m ((pattern ..1 . tail) . more) k names) (%match-names (pattern tail . more) k names))
    ((m ((first . rest) . more) k names) (%match-names (first rest . more) k names))
    ((m (#(pattern :::) . more) k names) (%match-names (pattern ::: . more) k names))
    ((m (atom . more) k (name :::))
     (%match-name? atom
                   (%match-names more k (name ::: atom))
                   (%match-names more k (name :::))))))

(define-syntax %match-quasi-names
  (syntax-rules (unquote unquote-splicing)
    ((_ () more k names) (%match-names more k names))
    ((_ ((unquote pattern) . templates) more k names)
     (%match-quasi-names templates (pattern . more) k names))
    ((_ ((unquote-splicing pattern) . templates) more k names)
     (%match-quasi-names templates (pattern . more) k names))
    ((_ ((a . d) . templates) more k names) (%match-quasi-names (a d . templates) more k names))
    ((_ (atom . templates) more k names) (%match-quasi-names templates more k names))))

(define-syntax %match-or
  (syntax-rules ()
    ((_ v (pattern ...) yes no names)
     (let ((success (lambda names yes)))
       (%match-any v (pattern ...) names success no)))))

(define-syntax %match-any
  (syntax-rules ()
    ((_ v () names success no) no)
    ((_ v (pattern . rest) names success no)
     (let ((next (lambda () (%match-any v rest names success no))))
       (%match-one v pattern (success . names) (next))))))

;; A pattern for many items: each of its names is the list of what it took.
(define-syntax %match-many
  (syntax-rules ()
    ((_ v pattern least tail yes no names)
     (%match-pairs names () (%match-run v pattern least tail yes no)))))

(define-syntax %match-pairs
  (syntax-rules ()
    ((_ () pairs (k ...)) (k ... pairs))
    ((_ (name . rest) (pair ...) k) (%match-pairs rest (pair ... (name taken)) k))))

(define-syntax %match-run
  (syntax-rules ()
    ((_ v pattern least tail yes no ((name taken) ...))
     (let ((count (- (%match-length v) (%match-size tail))))
       (if (< count least)
           no
           (let loop ((rest v) (left count) (taken '()) ...)
             (if (> left 0)
                 (let ((item (car rest)))
                   (%match-one item pattern (loop (cdr rest) (- left 1) (cons name taken) ...) no))
                 (let ((name (reverse taken)) ...)
                   (%match-one rest tail yes no)))))))))

(define (%match-length value)
  (let loop ((rest value) (count 0))
    (if (pair? rest) (loop (cdr rest) (+ count 1)) count)))

(define-syntax %match-size
  (syntax-rules ()
    ((_ (a . d)) (+ 1 (%match-size d)))
    ((_ other) 0)))

(define-syntax %match-quasi
  (syntax-rules (unquote unquote-splicing)
    ((_ v (unquote pattern) yes no) (%match-one v pattern yes no))
    ((_ v ((unquote-splicing pattern)) yes no) (%match-one v pattern yes no))
    ((_ v (a . d) yes no)
     (if (pair? v)
         (let ((x (car v)) (y (cdr v)))
           (%match-quasi x a (%match-quasi y d yes no) no))
         no))
    ((_ v #(a ...) yes no)
     (if (vector? v)
         (let ((items (vector->list v)))
           (%match-quasi items (a ...) yes no))
         no))
    ((_ v datum yes no) (if (equal? v 'datum) yes no))))
