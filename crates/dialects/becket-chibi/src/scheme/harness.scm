;; What every file finds without an import: the registries of its tools and hooks, and the ways to fill them.
;; A definition begins in the first column, and nothing else does.

(define %tool-registry% '())

(define %hook-registry% '())

(define (register-hook point callback)
  (%check-hook point callback)
  (set! %hook-registry% (cons (cons point callback) %hook-registry%)))

(define (%add-tool name entries)
  (%check-tool name (map car entries))
  (set! %tool-registry% (cons (cons name entries) %tool-registry%)))

(define-syntax define-tool
  (syntax-rules ()
    ((_ name clause ...)
     (%add-tool 'name (list (%tool-clause clause) ...)))))

(define-syntax %tool-clause
  (syntax-rules (summary-params quote quasiquote list)
    ((_ (summary-params (quote names))) (cons 'summary-params 'names))
    ((_ (summary-params (quasiquote names))) (cons 'summary-params (quasiquote names)))
    ((_ (summary-params (list name ...))) (cons 'summary-params (list name ...)))
    ((_ (summary-params (name ...))) (cons 'summary-params '(name ...)))
    ((_ (key value)) (cons 'key value))))

(define (exact->inexact number) (inexact number))

(define (inexact->exact number) (exact number))

(define harness-tools-docs
  '((__module__ . "harness tools: tools of a file, and calls of other tools")
    (define-tool . "(define-tool name (description text) (parameters alist) (execute procedure)): a tool for the model; (category text) and (summary-params names) may be there too")
    (call-tool . "(call-tool name arguments): calls another tool, through all hooks and the gate, and returns what it says")
    (generate-id . "(generate-id): eight hexadecimal digits")
    (current-timestamp . "(current-timestamp): now, as YYYYMMDD-HHMMz in UTC")
    (%context-name% . "the name of the context that calls")))
