//! Communication: blocking in queues, pairing with any waiting partner, `SELECT`.
//!
//! A process that reaches a communication takes a partner that waits for it, if there is one,
//! within the same action. Otherwise it blocks, and the state shows that it waits. The machine's
//! rendezvous does the pairing. For each message of a channel type there is
//!
//! - *data*, which carries the channel's number and the values from a sender to a waiting receiver,
//! - *request*, which a receiver sends to a waiting sender, and
//! - *reply*, which carries the values back to the receiver.
//!
//! Ports that can never refer to the same channel have different ones ([`super::classes`]).
//!
//! Request and reply are invisible steps of one transition, so no intermediate state is visible.
//! The locations of the processes show which of them wait, so a queue that is sorted by process is
//! not stored. If the order of waiting matters, the machine's channels *senders* and *receivers*
//! hold it.
//!
//! A process in `SELECT` waits for both kinds and begins nothing itself: the guard is part of the
//! step with which it answers, and a step whose guard is false does not happen. A process that
//! waits in a plain communication continues to offer it, so it finds processes that reach a
//! `SELECT` later. Two processes in `SELECT` never communicate with each other, as in the original
//! system.

use super::statements::writes;
use super::{Generator, NUMBER, machine_type};
use crate::limits::MAX_QUEUE;
use crate::tree::{self, Clause, Communication, Direction, Expression, Kind, Place, Target, Type};
use bytecode::{
    ChannelType, ChannelTypeId, FieldMask, GlobalId, LocalId, MessageField, Mode, Op, Receive, Register, StaticChannel, Variable,
};
use source::Span;

/// The machine's channels for one message.
#[derive(Clone, Copy)]
pub(super) struct MessageChannels {
    data: i32,
    request: i32,
    /// `None` for a signal, which carries no values back.
    reply: Option<i32>,
    /// The queues of waiting processes, if the order matters.
    senders: i32,
    receivers: i32,
}

/// A value that must not change while a process waits, and its storage.
#[derive(Clone)]
enum Held {
    /// The expression, which is evaluated again.
    Again(Expression, Type),
    /// A hidden local.
    Local(LocalId),
}

impl Generator<'_> {
    pub(super) fn channel_counter(&mut self) -> GlobalId {
        if let Some(counter) = self.next_channel {
            return counter;
        }
        let mut name = "channels".to_owned();
        while self.globals.iter().any(|known| known.name == name) {
            name.push('\'');
        }
        let counter = GlobalId::new(self.globals.len()).unwrap_or_default();
        self.globals.push(Variable { shown: bytecode::Shown::Hidden, ..Variable::scalar(name, bytecode::Type::Byte) });
        self.next_channel = Some(counter);
        counter
    }

    /// The machine's channels for a message through the ports of one class.
    fn message_channels(&mut self, communication: &Communication) -> MessageChannels {
        let (message, span) = (communication.message, communication.span);
        let key = (message, self.classes.class(&communication.port));
        if let Some(channels) = self.messages.get(&key) {
            return *channels;
        }
        let channel = &self.program.channels[message.0];
        let declared = &channel.messages[message.1];
        let of_class = self.classes.name(self.program, &communication.port).map(|port| format!("({port})"));
        let name = format!("{}{}.{}", channel.name, of_class.unwrap_or_default(), declared.name);
        let mut values = Vec::new();
        for ty in &declared.values {
            for leaf in super::storage::leaves_of(self.program, ty) {
                let (ty, shown) = machine_type(&leaf.ty);
                let count: u32 = leaf.dimensions.iter().product();
                values.extend((0..count).map(|_| MessageField { ty, shown }));
            }
        }
        let signal = values.is_empty();
        let with = |first: &[MessageField]| [first, &values].concat();
        let data = self.new_channel(&name, 0, with(&[NUMBER]), span);
        let request = self.new_channel(&format!("{name}?"), 0, if signal { vec![NUMBER] } else { vec![NUMBER, NUMBER] }, span);
        let reply = (!signal).then(|| self.new_channel(&format!("{name}="), 0, with(&[NUMBER]), span));
        // The order of waiting is kept for all ports of a type together, whatever their classes.
        let of_type = self.messages.iter().find(|((other, _), _)| *other == message);
        let (mut senders, mut receivers) = of_type.map_or((0, 0), |(_, known)| (known.senders, known.receivers));
        if self.options.queues == super::Queues::Fifo && senders == 0 {
            let name = format!("{}.{}", channel.name, declared.name);
            senders = self.new_channel(&format!("{name}!senders"), MAX_QUEUE as u8, vec![NUMBER, NUMBER], span);
            receivers = self.new_channel(&format!("{name}?receivers"), MAX_QUEUE as u8, vec![NUMBER, NUMBER], span);
        }
        let channels = MessageChannels { data, request, reply, senders, receivers };
        self.messages.insert(key, channels);
        channels
    }

    fn new_channel(&mut self, name: &str, capacity: u8, fields: Vec<MessageField>, span: Span) -> i32 {
        if self.channels.len() >= 250 {
            self.fail(span, "the program has too many different messages", "channel types that are the same can be declared once");
            return 1;
        }
        let ty = ChannelTypeId::new(self.channel_types.len()).unwrap_or_default();
        let mut name = name.to_owned();
        while self.channels.iter().any(|known| known.name == name) {
            name.push('\'');
        }
        self.channel_types.push(ChannelType { name: name.clone(), capacity, fields });
        self.channels.push(StaticChannel { name, ty });
        self.channels.len() as i32
    }

    /// Makes sure that a value does not change while the process waits.
    fn hold(&mut self, value: &Expression, ty: &Type, name: &str, frame: usize) -> Held {
        let stays = match &value.kind {
            _ if self.outside.depends(value) => true,
            Kind::Constant(_) => true,
            Kind::Load(place) => self.stays(place, frame),
            _ => false,
        };
        if stays {
            return Held::Again(value.clone(), ty.clone());
        }
        let local = self.hidden(name, machine_type(ty).0);
        self.value_for(value, ty, frame);
        self.emit(Op::Stl { var: local });
        Held::Local(local)
    }

    /// Whether a place cannot change while the process waits, and reading it cannot cause a fault.
    fn stays(&self, place: &Place, frame: usize) -> bool {
        let variable = &self.program.variables[place.variable];
        match variable.owner {
            None => self.fixed_ports.contains(&place.variable) && place.steps.is_empty(),
            Some(owner) => {
                let own = self.frames[frame].process == owner && !variable.reference;
                own && place.steps.is_empty() && self.frames[frame].depth.is_none() && !self.is_shared(place.variable)
            }
        }
    }

    /// Whether another process can change a variable of a process.
    fn is_shared(&self, variable: usize) -> bool {
        let owner = self.program.variables[variable].owner;
        let mut shared = false;
        for (number, process) in self.program.processes.iter().enumerate() {
            let inner = Some(number) != owner;
            super::each_statement(&process.body, &mut |statement| match &statement.kind {
                tree::Action::Call(_, arguments) | tree::Action::Create(_, arguments) => {
                    shared |= arguments.iter().any(|a| matches!(a, tree::Argument::Reference(place) if place.variable == variable));
                }
                _ => shared |= inner && writes(statement, variable),
            });
        }
        shared
    }

    fn push_held(&mut self, held: &Held, frame: usize) {
        match held {
            Held::Again(value, ty) => self.value_for(value, ty, frame),
            Held::Local(local) => self.emit(Op::Ldl { var: *local }),
        }
    }

    fn let_go(&mut self, held: &[Held]) {
        for value in held {
            if let Held::Local(local) = value {
                self.constant(0);
                self.emit(Op::Stl { var: *local });
            }
        }
    }

    /// Stores the port of a communication while the process waits. A port without a channel is a
    /// fault.
    fn hold_port(&mut self, port: &Place, name: &str, frame: usize) -> Held {
        let value = Expression { kind: Kind::Load(port.clone()), ty: port.ty.clone(), span: port.span };
        let held = self.hold(&value, &port.ty, name, frame);
        let is_early = self.early_ports.contains(&port.variable) && self.fixed_ports.contains(&port.variable) && port.steps.is_empty();
        if is_early {
            return held;
        }
        let good = self.mark();
        self.push_held(&held, frame);
        self.jump_if_not_zero(good);
        self.constant(0);
        self.emit(Op::Len {});
        self.emit(Op::Drop {});
        self.place_mark(good);
        held
    }

    /// A send or a receive outside of `SELECT`.
    pub(super) fn communicate(&mut self, communication: &Communication, frame: usize) {
        match &communication.what {
            Direction::Send(values) => self.send(communication, values, frame),
            // Whether a value equals a constant is known only when the message has arrived, so the
            // process waits as in a `SELECT`.
            Direction::Receive(targets) if targets.iter().any(|target| matches!(target, Target::Match(_))) => {
                let clause = Clause { communication: communication.clone(), guard: None, body: Vec::new() };
                self.select(&[clause], frame);
            }
            Direction::Receive(targets) => self.receive(communication, targets, frame),
        }
    }

    /// Stores the values of a message while the process waits.
    fn hold_values(&mut self, communication: &Communication, values: &[Expression], prefix: &str, frame: usize) -> Vec<Held> {
        let types = self.program.channels[communication.message.0].messages[communication.message.1].values.clone();
        let mut held = Vec::new();
        for (value, ty) in values.iter().zip(&types) {
            if ty.is_scalar() {
                let name = format!("{prefix}{}", held.len());
                held.push(self.hold(value, ty, &name, frame));
                continue;
            }
            let Kind::Load(place) = &value.kind else { continue };
            let spot = self.spot(place, frame);
            for (cell, of, leaf) in self.leaves(&spot) {
                for element in 0..of {
                    let local = self.hidden(&format!("{prefix}{}", held.len()), machine_type(&leaf.ty).0);
                    self.load(&spot, cell, element, of);
                    self.emit(Op::Stl { var: local });
                    held.push(Held::Local(local));
                }
            }
        }
        held
    }

    fn send(&mut self, communication: &Communication, values: &[Expression], frame: usize) {
        let channels = self.message_channels(communication);
        let port = self.hold_port(&communication.port, "port", frame);
        let held = self.hold_values(communication, values, "value", frame);
        let everything: Vec<Held> = held.iter().cloned().chain([port.clone()]).collect();
        let after = self.mark();
        if self.options.queues == super::Queues::Fifo {
            let wait = self.mark();
            self.emit(Op::Else { target: bytecode::Addr(wait.0) });
            self.offer(channels.data, &port, &held, frame);
            self.finish(&everything);
            self.jump(after);
            self.place_mark(wait);
            self.join_queue(channels.senders, &port, frame);
        } else {
            self.step(Mode::Invisible);
        }
        // The process waits here.
        let answer = self.mark();
        self.or_at(answer);
        self.leave_queue(channels.senders, &port, frame, false);
        self.offer(channels.data, &port, &held, frame);
        self.finish(&everything);
        self.jump(after);
        self.place_mark(answer);
        let partner = self.take_request(channels, &port, frame);
        self.leave_queue(channels.senders, &port, frame, false);
        self.reply(channels, partner, &held, frame);
        self.finish(&everything);
        self.place_mark(after);
    }

    /// Makes the machine's offer of a message.
    fn offer(&mut self, channel: i32, port: &Held, held: &[Held], frame: usize) {
        self.constant(channel);
        self.push_held(port, frame);
        for value in held {
            self.push_held(value, frame);
        }
        self.emit(Op::Send { fields: held.len() as u32 + 1 });
    }

    /// Ends the communication and the action.
    fn finish(&mut self, held: &[Held]) {
        self.let_go(held);
        self.step(Mode::Normal);
    }

    /// Receives the request of a receiver; returns the local that holds the receiver's number, if
    /// it waits for values.
    fn take_request(&mut self, channels: MessageChannels, port: &Held, frame: usize) -> Option<LocalId> {
        self.constant(channels.request);
        self.push_held(port, frame);
        let fields = if channels.reply.is_some() { 2 } else { 1 };
        self.emit(Op::Recv { fields, mask: FieldMask(1), how: Receive::First });
        channels.reply.map(|_| {
            let partner = self.hidden("partner", bytecode::Type::Byte);
            self.emit(Op::Push { reg: Register(1) });
            self.emit(Op::Stl { var: partner });
            partner
        })
    }

    /// Sends the values to the receiver that asked for them.
    fn reply(&mut self, channels: MessageChannels, partner: Option<LocalId>, held: &[Held], frame: usize) {
        let (Some(partner), Some(reply)) = (partner, channels.reply) else { return };
        self.step(Mode::Invisible);
        self.constant(reply);
        self.emit(Op::Ldl { var: partner });
        for value in held {
            self.push_held(value, frame);
        }
        self.emit(Op::Send { fields: held.len() as u32 + 1 });
        self.constant(0);
        self.emit(Op::Stl { var: partner });
    }

    fn receive(&mut self, communication: &Communication, targets: &[Target], frame: usize) {
        let channels = self.message_channels(communication);
        let port = self.hold_port(&communication.port, "port", frame);
        let (after, replied) = (self.mark(), self.mark());
        if self.options.queues == super::Queues::Fifo {
            let wait = self.mark();
            self.emit(Op::Else { target: bytecode::Addr(wait.0) });
            self.ask(channels, &port, frame, after, replied);
            self.place_mark(wait);
            self.join_queue(channels.receivers, &port, frame);
        } else {
            self.step(Mode::Invisible);
        }
        // The process waits here.
        let answer = self.mark();
        self.or_at(answer);
        self.leave_queue(channels.receivers, &port, frame, false);
        self.ask(channels, &port, frame, after, replied);
        self.place_mark(answer);
        let fields = self.take_message(channels.data, communication, targets, &port, frame);
        self.leave_queue(channels.receivers, &port, frame, fields > 1);
        self.store_message(targets, frame);
        self.finish(std::slice::from_ref(&port));
        if let Some(reply) = channels.reply {
            self.jump(after);
            self.place_mark(replied);
            self.constant(reply);
            self.emit(Op::Pid {});
            self.emit(Op::Recv { fields, mask: FieldMask(1), how: Receive::First });
            self.store_message(targets, frame);
            self.finish(&[port]);
        }
        self.place_mark(after);
    }

    /// Requests the message of a waiting sender.
    fn ask(&mut self, channels: MessageChannels, port: &Held, frame: usize, after: super::Mark, replied: super::Mark) {
        self.constant(channels.request);
        self.push_held(port, frame);
        if channels.reply.is_some() {
            self.emit(Op::Pid {});
            self.emit(Op::Send { fields: 2 });
            self.step(Mode::Invisible);
            self.jump(replied);
        } else {
            self.emit(Op::Send { fields: 1 });
            self.finish(std::slice::from_ref(port));
            self.jump(after);
        }
    }

    /// Receives a message of the port's channel into the registers; returns the number of its
    /// fields.
    fn take_message(&mut self, channel: i32, communication: &Communication, targets: &[Target], port: &Held, frame: usize) -> u32 {
        let types = self.program.channels[communication.message.0].messages[communication.message.1].values.clone();
        self.constant(channel);
        self.push_held(port, frame);
        let mut mask = 1;
        let mut field = 1;
        for (position, (target, ty)) in targets.iter().zip(&types).enumerate() {
            if let Target::Match(value) = target
                && !self.outside.is_sent(communication.message, position)
            {
                self.value(value, frame);
                mask |= 1 << field;
            }
            field += self.program.elements(ty) as u32;
        }
        self.emit(Op::Recv { fields: field, mask: FieldMask(mask), how: Receive::First });
        field
    }

    /// Stores the fields of a message from the registers.
    fn store_message(&mut self, targets: &[Target], frame: usize) {
        let mut field = 1_u8;
        for target in targets {
            let Target::Store(place) = target else {
                field += 1;
                continue;
            };
            if place.ty.is_scalar() && self.outside.holds(place) {
                field += 1;
                continue;
            }
            let (spot, held) = if place.ty.is_scalar() { (self.spot(place, frame), None) } else { self.settled(place, place, frame) };
            let leaves = self.leaves(&spot);
            for (cell, of, _) in leaves {
                for element in 0..of {
                    self.emit(Op::Push { reg: Register(field) });
                    self.store(&spot, cell, element, of);
                    field += 1;
                }
            }
            self.forget(held);
        }
    }

    /// `SELECT`.
    pub(super) fn select(&mut self, clauses: &[Clause], frame: usize) {
        let mut ports = Vec::new();
        let mut values = Vec::new();
        for (number, clause) in clauses.iter().enumerate() {
            ports.push(self.hold_port(&clause.communication.port, &format!("port{number}"), frame));
            values.push(match &clause.communication.what {
                Direction::Send(sent) => self.hold_values(&clause.communication, sent, &format!("value{number}_"), frame),
                Direction::Receive(_) => Vec::new(),
            });
        }
        let open = self.choose_clauses(clauses);
        let chosen = open.iter().flatten().map(|local| Held::Local(*local));
        let everything: Vec<Held> = ports.iter().cloned().chain(values.iter().flatten().cloned()).chain(chosen).collect();
        self.step(Mode::Normal);
        let end = self.mark();
        for (number, clause) in clauses.iter().enumerate() {
            let next = self.mark();
            if number + 1 < clauses.len() {
                self.or_at(next);
            }
            self.at(clause.communication.span);
            let channels = self.message_channels(&clause.communication);
            match &clause.communication.what {
                Direction::Send(_) => {
                    let partner = self.take_request(channels, &ports[number], frame);
                    self.guard(clause, open[number], frame);
                    self.reply(channels, partner, &values[number], frame);
                }
                Direction::Receive(targets) => {
                    self.take_message(channels.data, &clause.communication, targets, &ports[number], frame);
                    self.store_message(targets, frame);
                    self.guard(clause, open[number], frame);
                }
            }
            self.finish(&everything);
            self.statements(&clause.body, frame);
            self.jump(end);
            self.place_mark(next);
        }
        self.place_mark(end);
    }

    /// The guard of a clause; `open` has the choice if the environment decides about it.
    fn guard(&mut self, clause: &Clause, open: Option<LocalId>, frame: usize) {
        if let Some(var) = open {
            self.emit(Op::Ldl { var });
            self.emit(Op::Nexz {});
        }
        if let Some(guard) = &clause.guard {
            self.possible(guard, true, frame);
            self.emit(Op::Nexz {});
        }
    }

    /// Waits after the processes that came before.
    fn join_queue(&mut self, queue: i32, port: &Held, frame: usize) {
        self.constant(queue);
        self.emit(Op::Len {});
        self.name_failure("queue");
        self.emit(Op::Chk { length: MAX_QUEUE });
        self.emit(Op::Drop {});
        self.constant(queue);
        self.push_held(port, frame);
        self.emit(Op::Pid {});
        self.emit(Op::Send { fields: 2 });
        self.step(Mode::Normal);
    }

    /// Leaves the queue, which only the first process of the port's channel may do. If the first
    /// value of the message is in a register, it stays there.
    fn leave_queue(&mut self, queue: i32, port: &Held, frame: usize, value_in_register: bool) {
        if self.options.queues != super::Queues::Fifo {
            return;
        }
        if value_in_register {
            self.emit(Op::Push { reg: Register(1) });
        }
        self.constant(queue);
        self.push_held(port, frame);
        self.emit(Op::Recv { fields: 2, mask: FieldMask(1), how: Receive::Any });
        self.emit(Op::Push { reg: Register(1) });
        self.emit(Op::Pid {});
        self.emit(Op::Eq {});
        self.emit(Op::Nexz {});
        if value_in_register {
            self.emit(Op::Pop { reg: Register(1) });
        }
    }
}

pub(super) fn stores(what: &Direction, variable: usize) -> bool {
    match what {
        Direction::Send(_) => false,
        Direction::Receive(targets) => targets.iter().any(|t| matches!(t, Target::Store(place) if place.variable == variable)),
    }
}
