// A channel dies with the process that declared it.
//
// expect: states=7 transitions=7 verdict=violated violation="invalid channel"

chan far = [1] of { chan };
proctype P() {
	chan near = [1] of { byte };
	far!near
}
init {
	chan c;
	run P();
	far?c;
	_nr_pr == 1;
	c!1
}
