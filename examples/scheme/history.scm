;; A file-history recorder: before a context changes a file of the virtual file system, what stands there is kept, the
;; last ten revisions of each file.
;;
;; becket vfs put vfs:///tools/shared/history.scm examples/scheme/history.scm
;;
;; It reads and writes by itself, past all hooks, so it must not be sandboxed; /tools/shared/history.scm is not. A
;; revert is a call of a tool like any other: hooks see it, and what it replaces is kept too.

(import (scheme base) (scheme read) (scheme write) (chibi diff)
        (harness tools) (harness hooks) (harness io))

(define most 10)

(define root "vfs:///shared/.history")

;; One folder for each file: the signs that separate names in an address become other ones.
(define (folder path)
  (string-append root "/"
    (string-map (lambda (sign) (if (memv sign '(#\/ #\:)) #\~ sign)) path)))

(define (revision-file path number)
  (string-append (folder path) "/" (number->string number)))

(define (index-file path) (string-append (folder path) "/index"))

;; The index is a list of (number timestamp context), newest first.
(define (index path)
  (let ((text (io-read (index-file path))))
    (if text (read (open-input-string text)) '())))

(define (write-index path entries)
  (let ((port (open-output-string)))
    (write entries port)
    (io-write (index-file path) (get-output-string port))))

(define (record path context)
  (let ((content (io-read path)))
    (when content
      (let* ((entries (index path))
             (number (if (null? entries) 1 (+ 1 (caar entries))))
             (kept (take-up-to (cons (list number (current-timestamp) context) entries) most)))
        (io-write (revision-file path number) content)
        (for-each (lambda (entry)
                    (unless (assv (car entry) kept)
                      (io-delete (revision-file path (car entry)))))
                  entries)
        (write-index path kept)))))

(define (take-up-to items count)
  (if (or (null? items) (= count 0))
      '()
      (cons (car items) (take-up-to (cdr items) (- count 1)))))

(register-hook 'pre_vfs_write
  (lambda (payload)
    (record (cdr (assoc "path" payload)) (cdr (assoc "caller" payload)))
    '()))

(define (argument args name) (cdr (assoc name args)))

(define (revision path number)
  (or (io-read (revision-file path number))
      (error (string-append "there is no revision " (number->string number) " of " path))))

(define path-parameter '(path . ((type . "string") (description . "The address of the file, vfs:///…"))))

(define revision-parameter '(revision . ((type . "integer") (description . "The number of the revision."))))

(define-tool file_history_log
  (description "List the kept revisions of a file, the newest first.")
  (category "history")
  (summary-params '(path))
  (parameters (list path-parameter))
  (execute
    (lambda (args)
      (let ((entries (index (argument args "path"))))
        (if (null? entries)
            "nothing is kept of this file"
            (string-join
              (map (lambda (entry)
                     (string-append (number->string (car entry)) "  " (cadr entry) "  " (caddr entry)))
                   entries)
              "\n"))))))

(define-tool file_history_show
  (description "Show a kept revision of a file.")
  (category "history")
  (summary-params '(path revision))
  (parameters (list path-parameter revision-parameter))
  (execute (lambda (args) (revision (argument args "path") (argument args "revision")))))

(define-tool file_history_diff
  (description "Show how a file differs from a kept revision.")
  (category "history")
  (summary-params '(path revision))
  (parameters (list path-parameter revision-parameter))
  (execute
    (lambda (args)
      (let ((path (argument args "path")))
        (diff->string (diff (revision path (argument args "revision")) (or (io-read path) "")))))))

(define-tool file_history_revert
  (description "Give a file the content of a kept revision.")
  (category "history")
  (summary-params '(path revision))
  (parameters (list path-parameter revision-parameter))
  (execute
    (lambda (args)
      (let ((path (argument args "path")) (number (argument args "revision")))
        (call-tool "write_file" (list (cons "path" path) (cons "content" (revision path number))))
        (string-append path " is revision " (number->string number) " again")))))
