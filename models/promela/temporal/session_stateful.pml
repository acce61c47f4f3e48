// A stateful session bean, after the study of the EJB 1.1 specification at the 8th SPIN workshop (2001). The container passivates the bean as it
// likes, and the bean may time out: it is then removed if it is ready, and disappears if it is passive. The container is our own, written from
// the description. A call need not come to the bean, because the bean may time out before. In the study, each call comes to the bean or the bean
// times out. Here that needs no fairness, because the container does nothing for ever that it does on its own.
//
// expect: calls=violated times_out=holds
// expect weak: calls=violated times_out=holds

mtype = { create, business, remove, value, failed };
mtype = { ejbCreate, ejbRemove, ejbActivate, ejbPassivate, ejbBusiness };

chan remote = [1] of { mtype };
chan reply = [1] of { mtype };
chan method = [1] of { mtype };
chan result = [1] of { mtype };

active proctype Bean() {
end:	do
	:: method?_ -> result!value
	od
}

#define call(name) method!name; result?_

active proctype Container() {
	remote?create; call(ejbCreate); reply!value;
end_ready:
	do
	:: remote?business -> call(ejbBusiness); reply!value
	:: remote?remove -> call(ejbRemove); reply!value; goto end_gone
	:: call(ejbPassivate); goto end_passive
	:: goto times_out_ready
	od;
end_passive:
	do
	:: remote?business -> call(ejbActivate); call(ejbBusiness); reply!value; goto end_ready
	:: remote?remove -> reply!failed
	:: goto times_out_passive
	od;
times_out_ready:
	call(ejbRemove);
times_out_passive:
	skip;
end_gone:
	do
	:: remote?_ -> reply!failed
	od
}

active proctype Client() {
	remote!create; reply?_;
	do
	:: remote!business; if :: reply?value :: reply?failed -> break fi
	:: remote!remove; reply?_; break
	:: break
	od
}

#define Business remote?[business]
#define Timeout (Container@times_out_ready || Container@times_out_passive || Container@end_gone)

ltl calls { [] (Business -> <> method?[ejbBusiness]) }
ltl times_out { [] (Business -> <> (method?[ejbBusiness] || Timeout)) }
