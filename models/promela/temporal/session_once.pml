// A stateless session bean with two clients that call it once each, after the study of the EJB 1.1 specification at the 8th SPIN workshop (2001).
// The server creates and removes the bean as it likes. A bean is not called again while it is being called: the container answers such a call
// with a failure. The container is our own, written from the description. The study proves that the first call is answered nevertheless.
//
// expect: answered=holds fails=violated
// expect weak: answered=holds fails=violated

mtype = { value, failed };
mtype = { ejbCreate, ejbRemove, ejbBusiness };

chan remote = [1] of { byte };
chan reply[2] = [1] of { mtype };
chan method = [1] of { mtype };
chan result = [1] of { mtype };

active [2] proctype Client() {
	mtype what;
	remote!_pid;
called:
	reply[_pid]?what
}

active proctype Bean() {
end:	do
	:: method?_ -> result!value
	od
}

active proctype Container() {
	byte who, other;
end_none:
	do
	:: remote?[0] -> break
	:: remote?[1] -> break
	od;
	method!ejbCreate; result?_;
end_ready:
	do
	:: remote?who ->
		method!ejbBusiness;
		do
		:: remote?other -> reply[other]!failed
		:: result?_ -> break
		od;
		reply[who]!value
	:: method!ejbRemove; result?_; goto end_none
	od
}

#define Invoked(n) Client[n]@called
#define Return(n) reply[n]?[value]
#define Exception(n) reply[n]?[failed]

ltl answered {
	[] ((Invoked(0) && <> Invoked(1) && (!(Return(0) || Exception(0)) U Exception(1))) -> <> (Return(0) || Exception(0)))
}
ltl fails { [] !Exception(1) }
