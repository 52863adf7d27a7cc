;;; SRFI 26: procedures made of calls in which something is left open.

(define-syntax cut
  (syntax-rules ()
    ((_ part ...) (%cut () () part ...))))

(define-syntax %cut
  (syntax-rules (<> <...>)
    ((_ (parameter ...) (part ...)) (lambda (parameter ...) (part ...)))
    ((_ (parameter ...) (procedure part ...) <...>)
     (lambda (parameter ... . rest) (apply procedure part ... rest)))
    ((_ (parameter ...) (part ...) <> . others) (%cut (parameter ... open) (part ... open) . others))
    ((_ parameters (part ...) value . others) (%cut parameters (part ... value) . others))))

(define-syntax cute
  (syntax-rules ()
    ((_ part ...) (%cute () () () part ...))))

(define-syntax %cute
  (syntax-rules (<> <...>)
    ((_ bindings (parameter ...) (part ...)) (let bindings (lambda (parameter ...) (part ...))))
    ((_ bindings (parameter ...) (procedure part ...) <...>)
     (let bindings (lambda (parameter ... . rest) (apply procedure part ... rest))))
    ((_ bindings (parameter ...) (part ...) <> . others)
     (%cute bindings (parameter ... open) (part ... open) . others))
    ((_ (binding ...) parameters (part ...) value . others)
     (%cute (binding ... (once value)) parameters (part ... once) . others))))
