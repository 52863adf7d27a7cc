;;; Procedures of the machine's own that are written in Scheme. Each definition begins in the first column, and is
;;; compiled when somebody uses it. Names that begin with % are for the machine and for these procedures.

(define (call-with-values producer consumer)
  (%apply-values consumer (producer)))

(define (%after thunk value)
  (thunk)
  value)

;; Conditions. The handlers are a list, innermost first; a handler runs with those outside of it.

(define (with-exception-handler handler thunk)
  (let ((handlers (%handlers)))
    (%set-handlers! (cons handler handlers))
    (let ((result (thunk)))
      (%set-handlers! handlers)
      result)))

(define (%call-handler condition continuable?)
  (let ((handlers (%handlers)))
    (%set-handlers! (cdr handlers))
    (let ((result ((car handlers) condition)))
      (if continuable?
          (begin
            (%set-handlers! handlers)
            result)
          (%not-continuable condition)))))

;; `guard`: the clauses run outside of the body; if none fits, the condition is raised again where it came from.

(define (%guard body clauses)
  ((call/cc
    (lambda (outside)
      (with-exception-handler
       (lambda (condition)
         ((call/cc
           (lambda (inside)
             (outside
              (lambda ()
                (clauses condition
                         (lambda ()
                           (inside
                            (lambda ()
                              (raise-continuable condition)))))))))))
       (lambda ()
         (let ((result (body)))
           (lambda () result))))))))

;; Continuations and what must be run on the way.

(define (call-with-current-continuation procedure)
  (%call/cc procedure))

(define (call/cc procedure)
  (%call/cc procedure))

(define (dynamic-wind before thunk after)
  (before)
  (let ((winds (%winds)))
    (%set-winds! (cons (vector before after (%handlers) (%parameters)) winds))
    (let ((result (thunk)))
      (%set-winds! winds)
      (after)
      result)))

(define (%wind frame index)
  (%set-handlers! (vector-ref frame 2))
  (%set-parameters! (vector-ref frame 3))
  ((vector-ref frame index)))

(define (%common-tail a b)
  (let ((length-a (length a)) (length-b (length b)))
    (let loop ((a (if (> length-a length-b) (list-tail a (- length-a length-b)) a))
               (b (if (> length-b length-a) (list-tail b (- length-b length-a)) b)))
      (if (eq? a b)
          a
          (loop (cdr a) (cdr b))))))

(define (%rewind target)
  (let ((common (%common-tail (%winds) target)))
    (let unwind ((winds (%winds)))
      (if (not (eq? winds common))
          (begin
            (%set-winds! (cdr winds))
            (%wind (car winds) 1)
            (unwind (cdr winds)))))
    (let wind ((winds target))
      (if (not (eq? winds common))
          (begin
            (wind (cdr winds))
            (%wind (car winds) 0)
            (%set-winds! winds))))))

(define (%throw continuation value)
  (%rewind (%continuation-winds continuation))
  (%reinstate continuation value))

;; Whoever leaves for good leaves everything behind in order.

(define (exit . status)
  (%rewind '())
  (apply emergency-exit status))

;; Parameters.

(define make-parameter
  (case-lambda
    ((value) (%make-parameter value #f))
    ((value converter) (%make-parameter (converter value) converter))))

(define (%with-parameters parameters values thunk)
  (let ((before (%parameters)))
    (let loop ((parameters parameters) (values values) (bindings before))
      (if (null? parameters)
          (begin
            (%set-parameters! bindings)
            (let ((result (thunk)))
              (%set-parameters! before)
              result))
          (let ((converter (%parameter-converter (car parameters))))
            (loop (cdr parameters)
                  (cdr values)
                  (cons (cons (car parameters)
                              (if converter (converter (car values)) (car values)))
                        bindings)))))))

;; Promises.

(define (force promise)
  (if (promise? promise)
      (let loop ()
        (let ((content (%promise-content promise)))
          (if (car content)
              (cdr content)
              (let ((next ((cdr content))))
                (let ((content (%promise-content promise)))
                  (if (not (car content))
                      (let ((further (%promise-content next)))
                        (set-car! content (car further))
                        (set-cdr! content (cdr further))
                        (%set-promise-content! next content)))
                  (loop))))))
      promise))

;; Lists.

(define (member item list . same)
  (if (null? same)
      (%member item list)
      (let ((same? (car same)))
        (let loop ((rest list))
          (cond ((null? rest) #f)
                ((same? item (car rest)) rest)
                (else (loop (cdr rest))))))))

(define (assoc item list . same)
  (if (null? same)
      (%assoc item list)
      (let ((same? (car same)))
        (let loop ((rest list))
          (cond ((null? rest) #f)
                ((same? item (caar rest)) (car rest))
                (else (loop (cdr rest))))))))

(define (%any-null? lists)
  (let loop ((lists lists))
    (cond ((null? lists) #f)
          ((pair? (car lists)) (loop (cdr lists)))
          ((null? (car lists)) #t)
          (else (error "this is not a list:" (car lists))))))

(define (%cars lists)
  (let loop ((lists lists) (cars '()))
    (if (null? lists)
        (reverse cars)
        (loop (cdr lists) (cons (caar lists) cars)))))

(define (%cdrs lists)
  (let loop ((lists lists) (cdrs '()))
    (if (null? lists)
        (reverse cdrs)
        (loop (cdr lists) (cons (cdar lists) cdrs)))))

(define map
  (case-lambda
    ((procedure list)
     (let loop ((rest list) (results '()))
       (if (pair? rest)
           (loop (cdr rest) (cons (procedure (car rest)) results))
           (if (null? rest)
               (reverse results)
               (error "map: this is not a list:" list)))))
    ((procedure list . lists)
     (let loop ((lists (cons list lists)) (results '()))
       (if (%any-null? lists)
           (reverse results)
           (loop (%cdrs lists) (cons (apply procedure (%cars lists)) results)))))))

(define for-each
  (case-lambda
    ((procedure list)
     (let loop ((rest list))
       (if (pair? rest)
           (begin
             (procedure (car rest))
             (loop (cdr rest)))
           (if (not (null? rest))
               (error "for-each: this is not a list:" list)))))
    ((procedure list . lists)
     (let loop ((lists (cons list lists)))
       (if (not (%any-null? lists))
           (begin
             (apply procedure (%cars lists))
             (loop (%cdrs lists))))))))

;; Vectors and strings.

(define vector-map
  (case-lambda
    ((procedure vector)
     (let ((end (vector-length vector)))
       (let loop ((index 0) (results '()))
         (if (< index end)
             (loop (+ index 1) (cons (procedure (vector-ref vector index)) results))
             (list->vector (reverse results))))))
    ((procedure vector . vectors)
     (list->vector (apply map procedure (map vector->list (cons vector vectors)))))))

(define vector-for-each
  (case-lambda
    ((procedure vector)
     (let ((end (vector-length vector)))
       (let loop ((index 0))
         (if (< index end)
             (begin
               (procedure (vector-ref vector index))
               (loop (+ index 1)))))))
    ((procedure vector . vectors)
     (apply for-each procedure (map vector->list (cons vector vectors))))))

(define (string-map procedure string . strings)
  (list->string (apply map procedure (map string->list (cons string strings)))))

(define (string-for-each procedure string . strings)
  (apply for-each procedure (map string->list (cons string strings))))

;; Ports.

(define (call-with-port port procedure)
  (let ((result (procedure port)))
    (close-port port)
    result))

;; Complex numbers: only those that are real.

(define (make-rectangular real imaginary)
  (if (eqv? imaginary 0)
      real
      (error "make-rectangular: complex numbers are not here:" real imaginary)))

(define (make-polar magnitude angle)
  (if (eqv? angle 0)
      magnitude
      (error "make-polar: complex numbers are not here:" magnitude angle)))

(define (real-part number)
  (+ number 0))

(define (imag-part number)
  (* number 0))

(define (angle number)
  (if (negative? number) (acos -1) 0))
