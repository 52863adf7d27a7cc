;;; SRFI 128: comparators.

(define-record-type comparator (%make-comparator type-test equality ordering hash ordered? hashable?) comparator? (type-test comparator-type-test-predicate) (equality comparator-equality-predicate) (ordering comparator-ordering-predicate) (hash comparator-hash-function) (ordered? comparator-ordered?) (hashable? comparator-hashable?))

(define (make-comparator type-test equality ordering hash)
  (let ((type-test (if (eq? type-test #t) (lambda (value) #t) type-test)))
    (%make-comparator
     type-test
     (if (eq? equality #t)
         (lambda (a b) (and (not (ordering a b)) (not (ordering b a))))
         equality)
     (or ordering (lambda (a b) (error "this comparator does not know an order")))
     (or hash (lambda (value) (error "this comparator does not know a hash")))
     (and ordering #t)
     (and hash #t))))

(define (%hash value . rest) (%hash-equal value))
(define (boolean-hash value) (if value 1 0))
(define (char-hash value) (char->integer value))
(define (char-ci-hash value) (char->integer (char-foldcase value)))
(define (string-hash value . rest) (%hash-equal value))
(define (string-ci-hash value . rest) (%hash-equal (string-foldcase value)))
(define (symbol-hash value) (%hash-equal (symbol->string value)))
(define (number-hash value) (if (and (integer? value) (exact? value)) (abs value) (%hash-equal value)))
(define (default-hash value . rest) (%hash-equal value))
(define (hash-bound) 33554432)
(define (hash-salt) 16064047)

(define (boolean<? a b) (and (not a) b #t))
(define (symbol<? a b) (string<? (symbol->string a) (symbol->string b)))

(define (%rank value)
  (cond ((null? value) 0)
        ((pair? value) 1)
        ((boolean? value) 2)
        ((char? value) 3)
        ((string? value) 4)
        ((symbol? value) 5)
        ((number? value) 6)
        ((vector? value) 7)
        ((bytevector? value) 8)
        (else 9)))

(define (%default<? a b)
  (let ((rank-a (%rank a)) (rank-b (%rank b)))
    (cond ((< rank-a rank-b) #t)
          ((> rank-a rank-b) #f)
          (else
           (case rank-a
             ((1)
              (cond ((%default<? (car a) (car b)) #t)
                    ((%default<? (car b) (car a)) #f)
                    (else (%default<? (cdr a) (cdr b)))))
             ((2) (boolean<? a b))
             ((3) (char<? a b))
             ((4) (string<? a b))
             ((5) (symbol<? a b))
             ((6) (< a b))
             ((7) (%vector<? a b vector-length vector-ref %default<?))
             ((8) (%vector<? a b bytevector-length bytevector-u8-ref <))
             (else #f))))))

(define (%vector<? a b length ref less?)
  (let ((length-a (length a)) (length-b (length b)))
    (cond ((< length-a length-b) #t)
          ((> length-a length-b) #f)
          (else
           (let loop ((index 0))
             (cond ((= index length-a) #f)
                   ((less? (ref a index) (ref b index)) #t)
                   ((less? (ref b index) (ref a index)) #f)
                   (else (loop (+ index 1)))))))))

(define (%default=? a b)
  (if (and (number? a) (number? b)) (= a b) (equal? a b)))

(define (make-default-comparator)
  (make-comparator #t %default=? %default<? %hash))

(define (default-comparator) (make-default-comparator))
(define (make-eq-comparator) (make-comparator #t eq? #f hash-by-identity))
(define (make-eqv-comparator) (make-comparator #t eqv? #f hash-by-identity))
(define (make-equal-comparator) (make-comparator #t equal? #f %hash))
(define (hash-by-identity value) (%hash-eqv value))

(define (make-pair-comparator first second)
  (make-comparator
   (lambda (value)
     (and (pair? value) (comparator-test-type first (car value)) (comparator-test-type second (cdr value))))
   (lambda (a b) (and (=? first (car a) (car b)) (=? second (cdr a) (cdr b))))
   (lambda (a b) (if (=? first (car a) (car b)) (<? second (cdr a) (cdr b)) (<? first (car a) (car b))))
   (lambda (value) (+ (comparator-hash first (car value)) (* 31 (comparator-hash second (cdr value)))))))

(define (make-list-comparator element . options)
  (make-comparator
   (lambda (value) (and (list? value) (%every (lambda (item) (comparator-test-type element item)) value)))
   (lambda (a b)
     (let loop ((a a) (b b))
       (cond ((null? a) (null? b))
             ((null? b) #f)
             (else (and (=? element (car a) (car b)) (loop (cdr a) (cdr b)))))))
   (lambda (a b)
     (let loop ((a a) (b b))
       (cond ((null? b) #f)
             ((null? a) #t)
             ((=? element (car a) (car b)) (loop (cdr a) (cdr b)))
             (else (<? element (car a) (car b))))))
   %hash))

(define (%every test list)
  (or (null? list) (and (test (car list)) (%every test (cdr list)))))

(define (make-vector-comparator element . options)
  (make-comparator
   vector?
   (lambda (a b) (and (= (vector-length a) (vector-length b))
                      (not (%vector<? a b vector-length vector-ref (comparator-ordering-predicate element)))
                      (not (%vector<? b a vector-length vector-ref (comparator-ordering-predicate element)))))
   (lambda (a b) (%vector<? a b vector-length vector-ref (comparator-ordering-predicate element)))
   %hash))

(define (comparator-test-type comparator value)
  ((comparator-type-test-predicate comparator) value))

(define (comparator-check-type comparator value)
  (if (not (comparator-test-type comparator value))
      (error "comparator-check-type: this does not fit:" value))
  #t)

(define (comparator-hash comparator value)
  ((comparator-hash-function comparator) value))

(define (%chain holds? a b rest)
  (and (holds? a b)
       (or (null? rest) (%chain holds? b (car rest) (cdr rest)))))

(define (=? comparator a b . rest)
  (%chain (comparator-equality-predicate comparator) a b rest))

(define (<? comparator a b . rest)
  (%chain (comparator-ordering-predicate comparator) a b rest))

(define (>? comparator a b . rest)
  (%chain (lambda (a b) ((comparator-ordering-predicate comparator) b a)) a b rest))

(define (<=? comparator a b . rest)
  (%chain (lambda (a b) (not ((comparator-ordering-predicate comparator) b a))) a b rest))

(define (>=? comparator a b . rest)
  (%chain (lambda (a b) (not ((comparator-ordering-predicate comparator) a b))) a b rest))

(define-syntax comparator-if<=>
  (syntax-rules ()
    ((_ a b less equal greater)
     (comparator-if<=> (make-default-comparator) a b less equal greater))
    ((_ comparator a b less equal greater)
     (let ((x a) (y b) (c comparator))
       (cond ((=? c x y) equal)
             ((<? c x y) less)
             (else greater))))))
