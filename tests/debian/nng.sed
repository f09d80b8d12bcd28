# Queues a task before it is counted as running.
/^nni_task_dispatch(/,/^}/ {
    /nni_mtx_lock(&task->task_mtx);/i\
	nni_mtx_lock(&tq->tq_mtx);\
	nni_list_append(&tq->tq_tasks, task);\
	nni_cv_wake1(&tq->tq_sched_cv);\
	nni_mtx_unlock(&tq->tq_mtx);
    /nni_mtx_lock(&tq->tq_mtx);/,/nni_mtx_unlock(&tq->tq_mtx);/d
}
