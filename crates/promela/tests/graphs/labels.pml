// Labels on guards, jumps, blocks, loops.
byte x;
active proctype P() { end: x==1; progress1: accept_x: x=2; do :: end2: x==3 -> progress: x=4 :: x==5 -> endL: goto end; x=6 :: x==7 -> goto A od; A: if :: progressZ: atomic { x==1; x=2 } :: endQ: if :: x==1 :: x==2 -> x=3 fi fi; B: C: x=4; endgoto: goto B; D: { x=1; x=2 }; goto D; end9: do :: x==1 od }
