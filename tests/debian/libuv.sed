# Looks whether a worker is idle before the lock is held that guards the count.
/^static void post(/,/^}/ {
    s/^  uv_mutex_lock(&mutex);/  int is_one_idle = idle_threads > 0;\
  uv_mutex_lock(\&mutex);/
    s/if (idle_threads > 0)/if (is_one_idle)/
}
