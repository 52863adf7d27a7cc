;; Requests over HTTP. An answer is an alist with the status, the headers and the body; whatever else happens is raised.
;; A definition begins in the first column, and nothing else does.

(define (http-request method url headers body . timeout)
  (%http-request method url headers body (if (null? timeout) 30 (car timeout))))

(define (http-get url . rest)
  (apply http-request "GET" url (%headers rest) #f (%timeout rest)))

(define (http-delete url . rest)
  (apply http-request "DELETE" url (%headers rest) #f (%timeout rest)))

(define (http-post url headers body . timeout)
  (apply http-request "POST" url headers body timeout))

(define (http-put url headers body . timeout)
  (apply http-request "PUT" url headers body timeout))

(define (%headers rest)
  (if (null? rest) '() (car rest)))

(define (%timeout rest)
  (if (null? rest) '() (cdr rest)))
