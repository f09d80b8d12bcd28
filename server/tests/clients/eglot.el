;;; eglot.el --- eglot asks for what the server offers  -*- lexical-binding: t -*-

;;; Commentary:
;; Emacs runs this in batch mode, with the server and the workspace behind it.  Emacs 29 and newer have eglot; an older
;; one takes the package.

;;; Code:

(require 'eglot)
(require 'cl-lib)
(require 'imenu)
(require 'xref)

(defconst server (pop command-line-args-left))
(defconst folder (file-name-as-directory (pop command-line-args-left)))
(setq command-line-args-left nil)

(defun demand (holds what &rest found)
  "Ends Emacs unless HOLDS; WHAT names the check, FOUND what there was instead."
  (unless holds
    (message "%s: %S" what found)
    (kill-emacs 1)))

(defun wait-for (what condition)
  "Runs CONDITION until it returns something; WHAT names it."
  (let ((found nil) (deadline (time-add nil 60)))
    (while (not (setq found (funcall condition)))
      ;; What the server works out in the background comes by itself.
      (demand (time-less-p nil deadline) what "did not come")
      (accept-process-output nil 0.05))
    found))

(defun go-to (line)
  "Puts point into the code of LINE (from 1)."
  (goto-char (point-min))
  (forward-line (1- line))
  (back-to-indentation))

(defun lines-of (items)
  "The lines of these items of xref, sorted."
  (sort (mapcar (lambda (item) (xref-location-line (xref-item-location item))) items) #'<))

(defun open-it ()
  "Opens the source with the server."
  (add-to-list 'project-find-functions (lambda (_) (cons 'transient folder)))
  (setf (alist-get 'c-mode eglot-server-programs) (list server "lsp"))
  (setq eglot-sync-connect 30 eglot-autoshutdown nil)
  (find-file (expand-file-name "bank.c" folder))
  (c-mode)
  (apply #'eglot (eglot--guess-contact)))

(defun of-fix (diagnostic)
  "Whether DIAGNOSTIC marks a line that only a fix is about; such marks come when the fix does."
  (string-match-p "a fix changes this line" (flymake-diagnostic-text diagnostic)))

(defun check-diagnostics ()
  "Flymake shows a diagnostic at each step."
  (flymake-mode 1)
  (let ((shown (wait-for "diagnostics" (lambda () (flymake-start) (flymake-diagnostics)))))
    (demand (equal (sort (mapcar (lambda (one) (line-number-at-pos (flymake-diagnostic-beg one)))
                                 (seq-remove #'of-fix shown))
                         #'<)
                   '(6 12 16 24))
            "diagnostics" (mapcar #'flymake-diagnostic-text shown))))

(defun check-hover ()
  "Eldoc says what ran here."
  (go-to 12)
  (let ((said nil))
    (eglot-hover-eldoc-function (lambda (text &rest _) (setq said text)))
    (wait-for "a hover" (lambda () said))
    (demand (string-match-p "balance" said) "hover" said)))

(defun check-ways ()
  "Definitions and references lead along the steps, and imenu has the outline."
  (go-to 24)
  (demand (equal (lines-of (xref-backend-definitions 'eglot (xref-backend-identifier-at-point 'eglot))) '(16)) "definition")
  (go-to 12)
  (demand (equal (lines-of (xref-backend-references 'eglot (xref-backend-identifier-at-point 'eglot))) '(6 12 16 24)) "references")
  (let ((outline (format "%S" (funcall imenu-create-index-function))))
    (demand (string-match-p "another thread's update" outline) "outline" outline)
    (demand (string-match-p "2\\. main\\.1 writes balance = 500" outline) "steps in the outline" outline))
  (demand (xref-backend-apropos 'eglot "lost") "explanations by name"))

(defun check-fix ()
  "A code action changes the source."
  (go-to 12)
  (let* ((before (buffer-string))
         (offered (lambda () (eglot-code-actions (line-beginning-position) (line-end-position))))
         (edits (lambda (action) (plist-get action :edit)))
         (fix (wait-for "a fix" (lambda () (cl-find-if edits (funcall offered))))))
    (cl-letf (((symbol-function 'y-or-n-p) #'always))
      (eglot--apply-workspace-edit (plist-get fix :edit) nil))
    (demand (not (equal before (buffer-string))) "the fix changes the source" fix)))

(open-it)
(check-diagnostics)
(check-hover)
(check-ways)
(check-fix)
(set-buffer-modified-p nil)
(eglot-shutdown (eglot-current-server))
(message "eglot: diagnostics, hovers, definitions, references, the outline and fixes work")
(kill-emacs 0)

;;; eglot.el ends here
