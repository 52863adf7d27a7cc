;;; SRFI 1: lists. What the machine has already is exported as it is.

(define (xcons a b) (cons b a))

(define (list-tabulate count procedure)
  (let loop ((index (- count 1)) (result '()))
    (if (< index 0)
        result
        (loop (- index 1) (cons (procedure index) result)))))

(define (circular-list first . rest)
  (let ((result (cons first rest)))
    (set-cdr! (last-pair result) result)
    result))

(define (iota count . options)
  (let ((start (if (pair? options) (car options) 0))
        (step (if (and (pair? options) (pair? (cdr options))) (cadr options) 1)))
    (if (negative? count)
        (error "iota: the count is negative:" count))
    (let loop ((index (- count 1)) (result '()))
      (if (< index 0)
          result
          (loop (- index 1) (cons (+ start (* index step)) result))))))

(define (proper-list? value) (list? value))

(define (circular-list? value)
  (let loop ((slow value) (fast value))
    (and (pair? fast)
         (let ((fast (cdr fast)))
           (and (pair? fast)
                (let ((fast (cdr fast)) (slow (cdr slow)))
                  (or (eq? fast slow) (loop slow fast))))))))

(define (dotted-list? value)
  (and (not (list? value)) (not (circular-list? value))))

(define (not-pair? value) (not (pair? value)))

(define (null-list? value)
  (cond ((pair? value) #f)
        ((null? value) #t)
        (else (error "null-list?: this is not a list:" value))))

(define (list= same? . lists)
  (define (two=? a b)
    (cond ((null? a) (null? b))
          ((null? b) #f)
          ((same? (car a) (car b)) (two=? (cdr a) (cdr b)))
          (else #f)))
  (or (null? lists)
      (let loop ((first (car lists)) (rest (cdr lists)))
        (or (null? rest)
            (and (or (eq? first (car rest)) (two=? first (car rest)))
                 (loop (car rest) (cdr rest)))))))

(define (first list) (car list))
(define (second list) (list-ref list 1))
(define (third list) (list-ref list 2))
(define (fourth list) (list-ref list 3))
(define (fifth list) (list-ref list 4))
(define (sixth list) (list-ref list 5))
(define (seventh list) (list-ref list 6))
(define (eighth list) (list-ref list 7))
(define (ninth list) (list-ref list 8))
(define (tenth list) (list-ref list 9))

(define (car+cdr pair) (values (car pair) (cdr pair)))

(define (take list count)
  (let loop ((rest list) (count count) (result '()))
    (if (= count 0)
        (reverse result)
        (loop (cdr rest) (- count 1) (cons (car rest) result)))))

(define (take! list count) (take list count))

(define (drop list count) (list-tail list count))

(define (%length+ list)
  (let loop ((rest list) (count 0))
    (if (pair? rest) (loop (cdr rest) (+ count 1)) count)))

(define (take-right list count)
  (list-tail list (- (%length+ list) count)))

(define (drop-right list count)
  (take list (- (%length+ list) count)))

(define (drop-right! list count) (drop-right list count))

(define (split-at list count)
  (values (take list count) (drop list count)))

(define (split-at! list count) (split-at list count))

(define (last list) (car (last-pair list)))

(define (length+ list)
  (if (circular-list? list) #f (%length+ list)))

(define (concatenate lists) (apply append lists))
(define (concatenate! lists) (apply append lists))
(define (append! . lists) (apply append lists))
(define (reverse! list) (reverse list))

(define (append-reverse head tail)
  (if (null? head)
      tail
      (append-reverse (cdr head) (cons (car head) tail))))

(define (append-reverse! head tail) (append-reverse head tail))

(define (zip list . lists)
  (apply map (lambda items items) list lists))

(define (unzip1 lists) (map car lists))
(define (unzip2 lists) (values (map car lists) (map cadr lists)))
(define (unzip3 lists) (values (map car lists) (map cadr lists) (map caddr lists)))
(define (unzip4 lists)
  (values (map car lists) (map cadr lists) (map caddr lists) (map cadddr lists)))
(define (unzip5 lists)
  (values (map first lists) (map second lists) (map third lists) (map fourth lists) (map fifth lists)))

(define (%some-null? lists)
  (and (pair? lists)
       (or (not (pair? (car lists))) (%some-null? (cdr lists)))))

(define (count test list . lists)
  (if (null? lists)
      (let loop ((rest list) (sum 0))
        (if (pair? rest)
            (loop (cdr rest) (if (test (car rest)) (+ sum 1) sum))
            sum))
      (let loop ((lists (cons list lists)) (sum 0))
        (if (%some-null? lists)
            sum
            (loop (map cdr lists) (if (apply test (map car lists)) (+ sum 1) sum))))))

(define (fold procedure seed list . lists)
  (if (null? lists)
      (let loop ((rest list) (result seed))
        (if (pair? rest)
            (loop (cdr rest) (procedure (car rest) result))
            result))
      (let loop ((lists (cons list lists)) (result seed))
        (if (%some-null? lists)
            result
            (loop (map cdr lists) (apply procedure (append (map car lists) (cons result '()))))))))

(define (fold-right procedure seed list . lists)
  (if (null? lists)
      (let loop ((rest (reverse list)) (result seed))
        (if (pair? rest)
            (loop (cdr rest) (procedure (car rest) result))
            result))
      (let loop ((rows (reverse (apply zip list lists))) (result seed))
        (if (pair? rows)
            (loop (cdr rows) (apply procedure (append (car rows) (cons result '()))))
            result))))

(define (pair-fold procedure seed list . lists)
  (if (null? lists)
      (let loop ((rest list) (result seed))
        (if (pair? rest)
            (let ((next (cdr rest)))
              (loop next (procedure rest result)))
            result))
      (let loop ((lists (cons list lists)) (result seed))
        (if (%some-null? lists)
            result
            (let ((next (map cdr lists)))
              (loop next (apply procedure (append lists (cons result '())))))))))

(define (pair-fold-right procedure seed list . lists)
  (let recur ((lists (cons list lists)))
    (if (%some-null? lists)
        seed
        (apply procedure (append lists (cons (recur (map cdr lists)) '()))))))

(define (reduce procedure default list)
  (if (null? list)
      default
      (fold procedure (car list) (cdr list))))

(define (reduce-right procedure default list)
  (if (null? list)
      default
      (let ((reversed (reverse list)))
        (fold procedure (car reversed) (cdr reversed)))))

(define (unfold stop? mapper successor seed . tail)
  (let loop ((seed seed) (result '()))
    (if (stop? seed)
        (append-reverse result (if (pair? tail) ((car tail) seed) '()))
        (loop (successor seed) (cons (mapper seed) result)))))

(define (unfold-right stop? mapper successor seed . tail)
  (let loop ((seed seed) (result (if (pair? tail) (car tail) '())))
    (if (stop? seed)
        result
        (loop (successor seed) (cons (mapper seed) result)))))

(define (append-map procedure list . lists)
  (apply append (apply map procedure list lists)))

(define (append-map! procedure list . lists)
  (apply append (apply map procedure list lists)))

(define (map! procedure list . lists) (apply map procedure list lists))
(define (map-in-order procedure list . lists) (apply map procedure list lists))

(define (pair-for-each procedure list . lists)
  (let loop ((lists (cons list lists)))
    (if (not (%some-null? lists))
        (let ((next (map cdr lists)))
          (apply procedure lists)
          (loop next)))))

(define (filter-map procedure list . lists)
  (let loop ((results (apply map procedure list lists)) (kept '()))
    (if (pair? results)
        (loop (cdr results) (if (car results) (cons (car results) kept) kept))
        (reverse kept))))

(define (filter test list)
  (let loop ((rest list) (kept '()))
    (if (pair? rest)
        (loop (cdr rest) (if (test (car rest)) (cons (car rest) kept) kept))
        (reverse kept))))

(define (remove test list)
  (let loop ((rest list) (kept '()))
    (if (pair? rest)
        (loop (cdr rest) (if (test (car rest)) kept (cons (car rest) kept)))
        (reverse kept))))

(define (partition test list)
  (let loop ((rest list) (in '()) (out '()))
    (if (pair? rest)
        (if (test (car rest))
            (loop (cdr rest) (cons (car rest) in) out)
            (loop (cdr rest) in (cons (car rest) out)))
        (values (reverse in) (reverse out)))))

(define (filter! test list) (filter test list))
(define (remove! test list) (remove test list))
(define (partition! test list) (partition test list))

(define (find-tail test list)
  (let loop ((rest list))
    (and (pair? rest)
         (if (test (car rest)) rest (loop (cdr rest))))))

(define (find test list)
  (let ((tail (find-tail test list)))
    (and tail (car tail))))

(define (any test list . lists)
  (if (null? lists)
      (let loop ((rest list))
        (and (pair? rest)
             (if (null? (cdr rest))
                 (test (car rest))
                 (or (test (car rest)) (loop (cdr rest))))))
      (let loop ((lists (cons list lists)))
        (and (not (%some-null? lists))
             (or (apply test (map car lists)) (loop (map cdr lists)))))))

(define (every test list . lists)
  (if (null? lists)
      (let loop ((rest list))
        (or (not (pair? rest))
            (if (null? (cdr rest))
                (test (car rest))
                (and (test (car rest)) (loop (cdr rest))))))
      (let loop ((lists (cons list lists)) (result #t))
        (if (%some-null? lists)
            result
            (let ((result (apply test (map car lists))))
              (and result (loop (map cdr lists) result)))))))

(define (list-index test list . lists)
  (let loop ((lists (cons list lists)) (index 0))
    (and (not (%some-null? lists))
         (if (apply test (map car lists))
             index
             (loop (map cdr lists) (+ index 1))))))

(define (span test list)
  (let loop ((rest list) (taken '()))
    (if (and (pair? rest) (test (car rest)))
        (loop (cdr rest) (cons (car rest) taken))
        (values (reverse taken) rest))))

(define (break test list)
  (span (lambda (item) (not (test item))) list))

(define (span! test list) (span test list))
(define (break! test list) (break test list))

(define (take-while test list)
  (let loop ((rest list) (taken '()))
    (if (and (pair? rest) (test (car rest)))
        (loop (cdr rest) (cons (car rest) taken))
        (reverse taken))))

(define (take-while! test list) (take-while test list))

(define (drop-while test list)
  (let loop ((rest list))
    (if (and (pair? rest) (test (car rest)))
        (loop (cdr rest))
        rest)))

(define (%sameness options) (if (pair? options) (car options) equal?))

(define (delete item list . same)
  (let ((same? (%sameness same)))
    (remove (lambda (other) (same? item other)) list)))

(define (delete! item list . same) (apply delete item list same))

(define (delete-duplicates list . same)
  (let ((same? (%sameness same)))
    (let loop ((rest list) (kept '()))
      (if (pair? rest)
          (loop (cdr rest)
                (if (any (lambda (other) (same? other (car rest))) kept)
                    kept
                    (cons (car rest) kept)))
          (reverse kept)))))

(define (delete-duplicates! list . same) (apply delete-duplicates list same))

(define (alist-cons key value alist) (cons (cons key value) alist))

(define (alist-copy alist)
  (map (lambda (entry) (cons (car entry) (cdr entry))) alist))

(define (alist-delete key alist . same)
  (let ((same? (%sameness same)))
    (remove (lambda (entry) (same? key (car entry))) alist)))

(define (alist-delete! key alist . same) (apply alist-delete key alist same))

(define (%in? same? item list)
  (any (lambda (other) (same? other item)) list))

(define (lset<= same? . lists)
  (or (null? lists)
      (let loop ((first (car lists)) (rest (cdr lists)))
        (or (null? rest)
            (and (every (lambda (item) (%in? same? item (car rest))) first)
                 (loop (car rest) (cdr rest)))))))

(define (lset= same? . lists)
  (or (null? lists)
      (let loop ((first (car lists)) (rest (cdr lists)))
        (or (null? rest)
            (and (lset<= same? first (car rest))
                 (lset<= same? (car rest) first)
                 (loop (car rest) (cdr rest)))))))

(define (lset-adjoin same? list . items)
  (fold (lambda (item result) (if (%in? same? item result) result (cons item result))) list items))

(define (lset-union same? . lists)
  (reduce (lambda (list result)
            (cond ((null? list) result)
                  ((null? result) list)
                  (else (apply lset-adjoin same? result list))))
          '()
          lists))

(define (lset-intersection same? list . lists)
  (filter (lambda (item) (every (lambda (other) (%in? same? item other)) lists)) list))

(define (lset-difference same? list . lists)
  (filter (lambda (item) (every (lambda (other) (not (%in? same? item other))) lists)) list))

(define (lset-xor same? . lists)
  (reduce (lambda (a b)
            (append (lset-difference same? b a) (lset-difference same? a b)))
          '()
          lists))

(define (lset-diff+intersection same? list . lists)
  (partition (lambda (item) (every (lambda (other) (not (%in? same? item other))) lists)) list))

(define (lset-union! same? . lists) (apply lset-union same? lists))
(define (lset-intersection! same? list . lists) (apply lset-intersection same? list lists))
(define (lset-difference! same? list . lists) (apply lset-difference same? list lists))
(define (lset-xor! same? . lists) (apply lset-xor same? lists))
(define (lset-diff+intersection! same? list . lists) (apply lset-diff+intersection same? list lists))
