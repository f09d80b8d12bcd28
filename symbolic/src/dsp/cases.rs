//! The case studies of Figure 7 of the paper as traces, for tests.

/// T1 reads the length, T2 erases, T1 checks the length that it read.
pub(crate) const STRINGBUFFER: &str = r#"
    file stringbuffer.cpp
    start main main
    start main.1 append
    start main.2 erase
    init count = 10
    main   fork main.1            @60
    main   fork main.2            @61
    main.1 lock m                 @10
    main.1 R count -> len via=5@append @11 length "int len = sb->count;"
    main.1 unlock m               @12
    main.2 lock m                 @30
    main.2 R count -> before      @31 erase "count -= end - start;"
    main.2 W count = before - 10  @31 erase "count -= end - start;"
    main.2 unlock m               @33
    main.1 lock m                 @20
    main.1 R count -> now via=7@append @21 getChars "assert(len <= count);"
    main.1 bug len > now          @21 getChars "assert(len <= count);"
    main.1 release m
"#;

/// T1 clears the queue that T2 still uses.
pub(crate) const PBZIP2: &str = r#"
    file pbzip2.c
    start main main
    start main.1 consumer
    init fifo = 7
    main   fork main.1        @400
    main.1 R fifo -> first    @280 consumer "pthread_mutex_lock(fifo->mut);"
    main.1 assume first != 0  @280
    main   W fifo = 0         @412 main "fifo = NULL;"
    main.1 R fifo -> second   @287 consumer "pthread_mutex_unlock(fifo->mut);"
    main.1 bug second == 0    @287 consumer "pthread_mutex_unlock(fifo->mut);"
"#;

/// Two threads update the total; one update is lost, and the sum is checked after both are joined.
pub(crate) const BANK: &str = r#"
    file bank.c
    start main main
    start main.1 transfer
    start main.2 transfer
    main   fork main.1               @80
    main   fork main.2               @81
    main.1 lock m                    @20
    main.1 R account[0] -> a0        @21 transfer "accounts[i] += n;"
    main.1 W account[0] = a0 + 100   @21 transfer "accounts[i] += n;"
    main.1 unlock m                  @22
    main.1 R total -> t1             @24 transfer "int t = BankTotal;"
    main.2 lock m                    @20
    main.2 R account[1] -> a1        @21 transfer "accounts[i] += n;"
    main.2 W account[1] = a1 + 100   @21 transfer "accounts[i] += n;"
    main.2 unlock m                  @22
    main.2 R total -> t2             @24 transfer "int t = BankTotal;"
    main.2 W total = t2 + 100        @25 transfer "BankTotal = t + n;"
    main.1 W total = t1 + 100        @25 transfer "BankTotal = t + n;"
    main.1 end
    main.2 end
    main   join main.1               @83
    main   join main.2               @84
    main   R account[0] -> s0        @86 main "sum += accounts[i];"
    main   R account[1] -> s1        @86 main "sum += accounts[i];"
    main   R total -> t              @88 main "assert(sum == BankTotal);"
    main   bug s0 + s1 != t          @88 main "assert(sum == BankTotal);"
"#;

/// T2 interrupts T1 outside its `try` block.
pub(crate) const CACHE4J: &str = r#"
    file cache.c
    start main main
    start main.1 update
    start main.2 cleaner
    main   fork main.1            @50
    main   fork main.2            @51
    main.1 W inTryBlock = 1       @10 update "inTryBlock = true;"
    main.1 W inTryBlock = 0       @12 update "inTryBlock = false;"
    main.2 R inTryBlock -> inside @30 cleaner "assert(inTryBlock);"
    main.2 bug inside == 0        @30 cleaner "assert(inTryBlock);"
"#;
