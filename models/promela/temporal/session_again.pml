// A stateless session bean with two clients that call it again and again, after the study of the EJB 1.1 specification at the 8th SPIN workshop
// (2001). The server removes the bean as it likes. So a bean that is ready need not be removed: calls can go on for ever, under weak fairness
// too, because the container is never kept from moving. The study finds this in accordance with the specification.
//
// expect: removed=violated served=violated
// expect weak: removed=violated served=violated

mtype = { value, failed };
mtype = { ejbCreate, ejbRemove, ejbBusiness };

chan remote = [1] of { byte };
chan reply[2] = [1] of { mtype };
chan method = [1] of { mtype };
chan result = [1] of { mtype };

active [2] proctype Client() {
	do
	:: remote!_pid; reply[_pid]?_
	od
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

ltl removed { [] (Container@end_ready -> <> method?[ejbRemove]) }
ltl served { [] <> method?[ejbBusiness] }
