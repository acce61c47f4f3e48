// Line ends as separators.
byte x
byte y
active proctype P() {
  x = 1
  y = 2;
  if
  :: x == 1 ->
     y = 3
  :: x == 2
     -> y = 4
  :: else
  fi
  do
  :: x < 3 ->
     { x++ }
     y = 5
  :: else -> break
  od
  atomic { x = 1
   y = 2 }
  { x = 1; y = 2 }
  unless { x == 3 }
  printf("a\n")
  run Q(1)
  goto L
L:
  skip
  x++
  y--
  assert(x == 1)
}
proctype Q(byte z) { z = 1 }
