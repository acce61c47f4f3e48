// There can be 255 processes at once.
//
// expect: states=255 transitions=254 verdict=violated violation="machine limit"

proctype P() { false }
init {
	do
	:: run P()
	od
}
