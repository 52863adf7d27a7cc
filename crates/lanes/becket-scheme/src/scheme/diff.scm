;;; (chibi diff): the longest common subsequence of two texts, line by line, and a text that shows the difference.

(define (%read-all port reader)
  (let loop ((items '()))
    (let ((item (reader port)))
      (if (eof-object? item)
          (reverse items)
          (loop (cons item items))))))

(define (%sequence source reader)
  (cond ((string? source) (%read-all (open-input-string source) reader))
        ((port? source) (%read-all source reader))
        (else source)))

(define (lcs a b . options)
  (map car (apply lcs-with-positions a b options)))

;; What both have in common, each with its places: ((item place-in-a place-in-b) ...).
(define (lcs-with-positions a b . options)
  (%common-lines a b))

(define (diff a b . options)
  (let* ((reader (if (pair? options) (car options) read-line))
         (a (%sequence a reader))
         (b (%sequence b reader)))
    (cons a (cons b (cons (lcs-with-positions a b) '())))))

(define (%lines prefix lines from to out)
  (let loop ((rest (list-tail lines from)) (index from))
    (if (< index to)
        (begin
          (write-string prefix out)
          (display (car rest) out)
          (newline out)
          (loop (cdr rest) (+ index 1))))))

(define (write-diff difference . options)
  (let ((writer (and (pair? options) (car options)))
        (out (if (and (pair? options) (pair? (cdr options))) (cadr options) (current-output-port)))
        (a (car difference))
        (b (cadr difference)))
    (let loop ((common (caddr difference)) (at-a 0) (at-b 0))
      (if (null? common)
          (begin
            (%lines "-" a at-a (length a) out)
            (%lines "+" b at-b (length b) out))
          (let ((item (car (car common))) (to-a (cadr (car common))) (to-b (caddr (car common))))
            (%lines "-" a at-a to-a out)
            (%lines "+" b at-b to-b out)
            (write-string " " out)
            (display item out)
            (newline out)
            (loop (cdr common) (+ to-a 1) (+ to-b 1)))))))

(define (diff->string difference . options)
  (let ((out (open-output-string)))
    (write-diff difference #f out)
    (get-output-string out)))
