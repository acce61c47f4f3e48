// A local variable of C with an initial value, and an array of the state.
//
// expect: states=73 transitions=128 verdict=holds

c_state "int cnt" "Local P" "2"
c_state "short arr[3]" "Global"
active [2] proctype P() { 
  do :: c_expr { PP->cnt < 5 } -> c_code { PP->cnt++; now.arr[PP->_pid] += PP->cnt; }
     :: else -> break od }
