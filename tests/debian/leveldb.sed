# Gives the lock back before the work that was announced is in the queue.
/^void PosixEnv::Schedule(/,/^}/ {
    /background_work_mutex_.Unlock();/d
    /background_work_queue_.emplace/i\
  background_work_mutex_.Unlock();
}
