;;; Hash tables, as SRFI 69 and SRFI 125 name them. The machine has tables by eqv? and by equal?; for any other sameness
;;; the entries of one hash are in a list.

(define-record-type <hash-table> (%make-hash-table table same? hash) hash-table? (table %table %set-table!) (same? %same?) (hash %hash))

(define (%native-kind same?)
  (cond ((or (eq? same? eq?) (eq? same? eqv?) (eq? same? char=?) (eq? same? symbol=?)) 'eqv)
        ((or (eq? same? equal?) (eq? same? string=?)) 'equal)
        (else #f)))

(define (make-hash-table . options)
  (let* ((first (if (pair? options) (car options) equal?))
         (comparator? (and (pair? options) (%comparator? first)))
         (same? (if comparator? (%comparator-equality first) first))
         (rest (if (pair? options) (cdr options) '()))
         (kind (%native-kind same?)))
    (if kind
        (%make-hash-table (%make-table kind) same? #f)
        (%make-hash-table
         (%make-table 'eqv)
         same?
         (cond (comparator? (%comparator-hash first))
               ((and (pair? rest) (procedure? (car rest))) (car rest))
               ((eq? same? string-ci=?) string-ci-hash)
               (else (lambda (key) 0)))))))

(define (%comparator? value)
  (and (not (procedure? value)) (comparator? value)))

(define (%comparator-equality comparator)
  (comparator-equality-predicate comparator))

(define (%comparator-hash comparator)
  (comparator-hash-function comparator))

(define (%bucket table key)
  (%table-ref (%table table) ((%hash table) key) '()))

(define (%entry table key)
  (let ((same? (%same? table)))
    (let loop ((entries (%bucket table key)))
      (cond ((null? entries) #f)
            ((same? (caar entries) key) (car entries))
            (else (loop (cdr entries)))))))

(define %missing (cons 'missing '()))

(define (%get table key)
  (if (%hash table)
      (let ((entry (%entry table key)))
        (if entry (cdr entry) %missing))
      (%table-ref (%table table) key %missing)))

(define (%put! table key value)
  (if (%hash table)
      (let ((entry (%entry table key)))
        (if entry
            (set-cdr! entry value)
            (%table-set! (%table table)
                         ((%hash table) key)
                         (cons (cons key value) (%bucket table key)))))
      (%table-set! (%table table) key value)))

(define (%remove! table key)
  (if (%hash table)
      (let ((entry (%entry table key)))
        (and entry
             (let loop ((entries (%bucket table key)) (kept '()))
               (cond ((null? entries)
                      (%table-set! (%table table) ((%hash table) key) (reverse kept))
                      #t)
                     ((eq? (car entries) entry) (loop (cdr entries) kept))
                     (else (loop (cdr entries) (cons (car entries) kept)))))))
      (%table-delete! (%table table) key)))

(define (hash-table->alist table)
  (if (%hash table)
      (apply append (map (lambda (bucket)
                           (map (lambda (entry) (cons (car entry) (cdr entry))) (cdr bucket)))
                         (%table->alist (%table table))))
      (%table->alist (%table table))))

(define (hash-table-ref table key . options)
  (let ((value (%get table key)))
    (cond ((eq? value %missing)
           (if (and (pair? options) (car options))
               ((car options))
               (error "hash-table-ref: there is no such key:" key)))
          ((and (pair? options) (pair? (cdr options))) ((cadr options) value))
          (else value))))

(define (hash-table-ref/default table key default)
  (let ((value (%get table key)))
    (if (eq? value %missing) default value)))

(define (hash-table-set! table . entries)
  (let loop ((entries entries))
    (if (pair? entries)
        (begin
          (%put! table (car entries) (cadr entries))
          (loop (cddr entries))))))

(define (hash-table-delete! table . keys)
  (let loop ((keys keys) (count 0))
    (if (null? keys)
        count
        (loop (cdr keys) (if (%remove! table (car keys)) (+ count 1) count)))))

(define (hash-table-contains? table key)
  (not (eq? (%get table key) %missing)))

(define (hash-table-exists? table key)
  (hash-table-contains? table key))

(define (hash-table-update! table key procedure . options)
  (%put! table key (procedure (apply hash-table-ref table key options))))

(define (hash-table-update!/default table key procedure default)
  (%put! table key (procedure (hash-table-ref/default table key default))))

(define (hash-table-intern! table key failure)
  (let ((value (%get table key)))
    (if (eq? value %missing)
        (let ((value (failure)))
          (%put! table key value)
          value)
        value)))

(define (hash-table-size table)
  (if (%hash table)
      (length (hash-table->alist table))
      (%table-size (%table table))))

(define (hash-table-empty? table)
  (= (hash-table-size table) 0))

(define (hash-table-mutable? table) #t)

(define (hash-table-keys table) (map car (hash-table->alist table)))
(define (hash-table-values table) (map cdr (hash-table->alist table)))

(define (hash-table-entries table)
  (values (hash-table-keys table) (hash-table-values table)))

(define (hash-table-walk table procedure)
  (for-each (lambda (entry) (procedure (car entry) (cdr entry))) (hash-table->alist table)))

(define (hash-table-for-each a b)
  (if (procedure? a) (hash-table-walk b a) (hash-table-walk a b)))

(define (hash-table-fold a b c)
  (let ((table (if (procedure? a) c a))
        (procedure (if (procedure? a) a b))
        (seed (if (procedure? a) b c)))
    (let loop ((entries (hash-table->alist table)) (result seed))
      (if (null? entries)
          result
          (loop (cdr entries) (procedure (caar entries) (cdar entries) result))))))

(define (hash-table-map->list procedure table)
  (map (lambda (entry) (procedure (car entry) (cdr entry))) (hash-table->alist table)))

(define (hash-table-map! procedure table)
  (hash-table-walk table (lambda (key value) (%put! table key (procedure key value)))))

(define (hash-table-map procedure comparator table)
  (let ((result (make-hash-table comparator)))
    (hash-table-walk table (lambda (key value) (%put! result key (procedure value))))
    result))

(define (hash-table-find procedure table failure)
  (let loop ((entries (hash-table->alist table)))
    (if (null? entries)
        (failure)
        (or (procedure (caar entries) (cdar entries))
            (loop (cdr entries))))))

(define (hash-table-count a b)
  (let ((table (if (procedure? a) b a)) (test (if (procedure? a) a b)))
    (hash-table-fold (lambda (key value count) (if (test key value) (+ count 1) count)) 0 table)))

(define (hash-table-prune! test table)
  (hash-table-walk table (lambda (key value) (if (test key value) (%remove! table key)))))

(define (hash-table-pop! table)
  (let ((entries (hash-table->alist table)))
    (if (null? entries)
        (error "hash-table-pop!: the table is empty"))
    (%remove! table (caar entries))
    (values (caar entries) (cdar entries))))

(define (hash-table-clear! table)
  (%table-clear! (%table table)))

(define (hash-table-empty-copy table)
  (let ((copy (hash-table-copy table)))
    (hash-table-clear! copy)
    copy))

(define (hash-table-copy table . mutable)
  (let ((copy (%make-hash-table (%make-table (%table-sameness (%table table))) (%same? table) (%hash table))))
    (hash-table-walk table (lambda (key value) (%put! copy key value)))
    copy))

(define (%fill! table alist)
  (for-each (lambda (entry)
              (if (not (hash-table-contains? table (car entry)))
                  (%put! table (car entry) (cdr entry))))
            alist)
  table)

(define (alist->hash-table alist . options)
  (%fill! (apply make-hash-table options) alist))

(define (hash-table comparator . entries)
  (let ((table (make-hash-table comparator)))
    (apply hash-table-set! table entries)
    table))

(define (hash-table-unfold stop? mapper successor seed . options)
  (let ((table (apply make-hash-table options)))
    (let loop ((seed seed))
      (if (stop? seed)
          table
          (begin
            (call-with-values (lambda () (mapper seed)) (lambda (key value) (%put! table key value)))
            (loop (successor seed)))))))

(define (hash-table-union! a b) (%fill! a (hash-table->alist b)))
(define (hash-table-merge! a b) (%fill! a (hash-table->alist b)))

(define (hash-table-intersection! a b)
  (hash-table-prune! (lambda (key value) (not (hash-table-contains? b key))) a)
  a)

(define (hash-table-difference! a b)
  (hash-table-prune! (lambda (key value) (hash-table-contains? b key)) a)
  a)

(define (hash-table-xor! a b)
  (hash-table-walk b
                   (lambda (key value)
                     (if (hash-table-contains? a key)
                         (%remove! a key)
                         (%put! a key value))))
  a)

(define (hash-table=? comparator a b)
  (and (= (hash-table-size a) (hash-table-size b))
       (let ((same? (if (procedure? comparator) comparator (%comparator-equality comparator))))
         (let loop ((entries (hash-table->alist a)))
           (or (null? entries)
               (let ((other (%get b (caar entries))))
                 (and (not (eq? other %missing))
                      (same? (cdar entries) other)
                      (loop (cdr entries)))))))))

(define (hash-table-equivalence-function table) (%same? table))

(define (hash-table-hash-function table) (or (%hash table) hash))

(define (%bounded hash bound)
  (if (pair? bound) (modulo hash (car bound)) hash))

(define (hash value . bound) (%bounded (%hash-equal value) bound))
(define (string-hash value . bound) (%bounded (%hash-equal value) bound))
(define (string-ci-hash value . bound) (%bounded (%hash-equal (string-foldcase value)) bound))
(define (hash-by-identity value . bound) (%bounded (%hash-eqv value) bound))
