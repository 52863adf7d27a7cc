;;; Sorting, as SRFI 95 and SRFI 132 name it: merge sort, which keeps equal items in order.

(define (%merge less? a b)
  (let loop ((a a) (b b) (result '()))
    (cond ((null? a) (%append-reverse result b))
          ((null? b) (%append-reverse result a))
          ((less? (car b) (car a)) (loop a (cdr b) (cons (car b) result)))
          (else (loop (cdr a) b (cons (car a) result))))))

(define (%append-reverse head tail)
  (if (null? head)
      tail
      (%append-reverse (cdr head) (cons (car head) tail))))

(define (%sort-list less? list)
  (let sort ((count (length list)) (list list))
    (cond ((= count 0) '())
          ((= count 1) (cons (car list) '()))
          (else
           (let ((half (quotient count 2)))
             (%merge less? (sort half list) (sort (- count half) (list-tail list half))))))))

(define (%keyed less? key)
  (lambda (a b) (less? (key a) (key b))))

(define (sort sequence less? . key)
  (let ((less? (if (pair? key) (%keyed less? (car key)) less?)))
    (if (vector? sequence)
        (list->vector (%sort-list less? (vector->list sequence)))
        (%sort-list less? sequence))))

(define (sort! sequence less? . key)
  (let ((sorted (apply sort sequence less? key)))
    (if (vector? sequence)
        (begin
          (vector-copy! sequence 0 sorted)
          sequence)
        sorted)))

(define (sorted? sequence less? . key)
  (let ((less? (if (pair? key) (%keyed less? (car key)) less?))
        (list (if (vector? sequence) (vector->list sequence) sequence)))
    (or (null? list)
        (let loop ((first (car list)) (rest (cdr list)))
          (or (null? rest)
              (and (not (less? (car rest) first))
                   (loop (car rest) (cdr rest))))))))

(define (merge a b less? . key)
  (%merge (if (pair? key) (%keyed less? (car key)) less?) a b))

(define (merge! a b less? . key) (apply merge a b less? key))

(define (list-sorted? less? list) (sorted? list less?))

(define (list-sort a b)
  (if (procedure? a) (%sort-list a b) (%sort-list b a)))

(define (list-stable-sort a b) (list-sort a b))
(define (list-sort! a b) (list-sort a b))
(define (list-stable-sort! a b) (list-sort a b))
(define (list-merge less? a b) (%merge less? a b))
(define (list-merge! less? a b) (%merge less? a b))

(define (%part vector options)
  (apply vector-copy vector options))

(define (vector-sorted? less? vector . options)
  (sorted? (%part vector options) less?))

(define (vector-sort a b . options)
  (let ((less? (if (procedure? a) a b)) (vector (if (procedure? a) b a)))
    (list->vector (%sort-list less? (vector->list (%part vector options))))))

(define (vector-stable-sort a b . options) (apply vector-sort a b options))

(define (vector-sort! a b . options)
  (let ((vector (if (procedure? a) b a)))
    (vector-copy! vector (if (pair? options) (car options) 0) (apply vector-sort a b options))))

(define (vector-stable-sort! a b . options) (apply vector-sort! a b options))

(define (vector-merge less? a b . options)
  (list->vector (%merge less? (vector->list a) (vector->list b))))

(define (list-delete-neighbor-dups same? list)
  (if (null? list)
      '()
      (let loop ((rest (cdr list)) (kept (cons (car list) '())))
        (cond ((null? rest) (reverse kept))
              ((same? (car kept) (car rest)) (loop (cdr rest) kept))
              (else (loop (cdr rest) (cons (car rest) kept)))))))

(define (list-delete-neighbor-dups! same? list) (list-delete-neighbor-dups same? list))

(define (vector-delete-neighbor-dups same? vector . options)
  (list->vector (list-delete-neighbor-dups same? (vector->list (%part vector options)))))

(define (vector-find-median less? vector knil . mean)
  (let* ((sorted (vector-sort less? vector)) (count (vector-length sorted)))
    (cond ((= count 0) knil)
          ((odd? count) (vector-ref sorted (quotient count 2)))
          (else
           ((if (pair? mean) (car mean) (lambda (a b) (/ (+ a b) 2)))
            (vector-ref sorted (- (quotient count 2) 1))
            (vector-ref sorted (quotient count 2)))))))

(define (vector-select! less? vector k . options)
  (vector-ref (apply vector-sort less? vector options) k))
