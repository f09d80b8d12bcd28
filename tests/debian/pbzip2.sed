# Does not wait for the consumers before their queue is deleted.
s/pthread_join(fifo->consumers\[i\], NULL)/pthread_detach(fifo->consumers[i])/
