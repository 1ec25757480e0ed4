valgrind --tool=callgrind --callgrind-out-file=cg.out --toggle-collect=ks_tdgst_add_u64 ./t1 ${@:-18 100 1000000 0} 2>&1 | grep refs; callgrind_annotate cg.out | grep -A14 'file:function'
