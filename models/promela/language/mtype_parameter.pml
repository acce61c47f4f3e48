// The type of a parameter does not change where line ends separate statements.
//
// expect: states=23 transitions=34 verdict=holds

mtype = { red, green }
mtype:fruit = { apple, pear }
mtype m
mtype:fruit f
proctype P(mtype a; mtype:fruit b; chan c)
{
	m = a
	f = b
	c!a
	c?m
	assert(m == red && f == pear)
}
init {
	chan c = [1] of { mtype }
	run P(red, pear, c)
	skip
	skip
}
