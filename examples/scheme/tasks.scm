;; A task manager: one file for each task, in the home of the context that asks.
;;
;; becket vfs put vfs:///tools/shared/tasks.scm examples/scheme/tasks.scm
;;
;; Everything goes through call-tool, so hooks and rules see every file that is read or written.

(import (scheme base) (scheme read) (scheme write) (harness tools))

(define (folder) (string-append "vfs:///home/" %context-name% "/tasks"))

(define (path id) (string-append (folder) "/" id ".task"))

(define (argument args name otherwise)
  (let ((found (assoc name args)))
    (if found (cdr found) otherwise)))

;; A task is an association list in its file.
(define (task->string task)
  (let ((port (open-output-string)))
    (write task port)
    (newline port)
    (get-output-string port)))

(define (read-task id)
  (guard (problem (#t (error (string-append "there is no task " id))))
    (read (open-input-string (call-tool "file_head" (list (cons "path" (path id)) (cons "lines" 200)))))))

(define (write-task id task)
  (call-tool "write_file" (list (cons "path" (path id)) (cons "content" (task->string task)))))

(define (field task name) (cdr (assq name task)))

(define (line id task)
  (string-append id "  [" (field task 'state) "]  " (field task 'title)))

;; The ids of all tasks, by the names of their files.
(define (ids)
  (let ((listed (guard (problem (#t "")) (call-tool "vfs_list" (list (cons "path" (folder)))))))
    (let loop ((rest (string-split listed "\n")) (found '()))
      (if (null? rest)
          (list-sort string<? found)
          (let ((end (string-contains (car rest) ".task")))
            (loop (cdr rest)
                  (if end (cons (string-trim-both (substring (car rest) 0 end)) found) found)))))))

(define-tool task_create
  (description "Create a task and get its id.")
  (category "tasks")
  (summary-params '(title))
  (parameters '((title . ((type . "string") (description . "What is to be done.")))
                (notes . ((type . "string") (description . "More about it.") (required . #f)))))
  (execute
    (lambda (args)
      (let ((id (generate-id)))
        (write-task id (list (cons 'title (argument args "title" ""))
                             (cons 'state "open")
                             (cons 'notes (argument args "notes" ""))
                             (cons 'created (current-timestamp))))
        (string-append "created " id)))))

(define-tool task_list
  (description "List the tasks of this context.")
  (category "tasks")
  (parameters '())
  (execute
    (lambda (args)
      (let ((all (ids)))
        (if (null? all)
            "no tasks"
            (string-join (map (lambda (id) (line id (read-task id))) all) "\n"))))))

(define-tool task_view
  (description "Show a task with its notes.")
  (category "tasks")
  (summary-params '(id))
  (parameters '((id . ((type . "string") (description . "The id of the task.")))))
  (execute
    (lambda (args)
      (let* ((id (argument args "id" "")) (task (read-task id)))
        (string-append (line id task) "\ncreated " (field task 'created) "\n" (field task 'notes))))))

(define-tool task_update
  (description "Change the title, the state (open, doing, done) or the notes of a task.")
  (category "tasks")
  (summary-params '(id))
  (parameters '((id . ((type . "string") (description . "The id of the task.")))
                (title . ((type . "string") (required . #f)))
                (state . ((type . "string") (enum . ("open" "doing" "done")) (required . #f)))
                (notes . ((type . "string") (required . #f)))))
  (execute
    (lambda (args)
      (let* ((id (argument args "id" ""))
             (task (read-task id))
             (changed (map (lambda (entry)
                             (cons (car entry) (argument args (symbol->string (car entry)) (cdr entry))))
                           task)))
        (write-task id changed)
        (line id changed)))))

(define-tool task_delete
  (description "Delete a task.")
  (category "tasks")
  (summary-params '(id))
  (parameters '((id . ((type . "string") (description . "The id of the task.")))))
  (execute
    (lambda (args)
      (let ((id (argument args "id" "")))
        (read-task id)
        (call-tool "vfs_delete" (list (cons "path" (path id))))
        (string-append "deleted " id)))))
