//! Statements of C as statements of the model.

use super::expression::{Value, int, is_const};
use super::types::{CType, Int};
use super::{Around, Binding, Goto, Lower, Object, Stop};
use crate::ast::Binary;
use crate::model::{Action, Ex, Node, Scope, Stm};
use crate::token::Text;
use lang_c::ast::{
    BlockItem, Declaration, DeclarationSpecifier, Expression, ForInitializer, Initializer, Label, Statement, StorageClassSpecifier,
};
use lang_c::span::{Node as CNode, Span as CSpan};
use std::collections::HashMap;

impl Lower<'_, '_> {
    pub(super) fn statement(&mut self, s: &CNode<Statement>) -> Result<(), Stop> {
        let at = s.span;
        self.count_statement(at)?;
        let may_be_entered = matches!(&s.node, Statement::Compound(_) | Statement::Labeled(_));
        if self.is_unreachable() && !may_be_entered {
            return Ok(());
        }
        match &s.node {
            Statement::Compound(items) => {
                self.scopes.push(HashMap::new());
                let taken = self.taken.clone();
                let result = items.iter().try_for_each(|item| match &item.node {
                    BlockItem::Declaration(declaration) => self.declaration(&declaration.node, declaration.span),
                    BlockItem::StaticAssert(_) => Ok(()),
                    BlockItem::Statement(statement) => self.statement(statement),
                });
                self.scopes.pop();
                self.release(taken);
                result
            }
            Statement::Expression(None) => Ok(()),
            Statement::Expression(Some(expression)) => {
                let taken = self.taken.clone();
                let result = self.effect(expression);
                self.release(taken);
                result
            }
            Statement::If(branch) => {
                let condition = self.condition(&branch.node.condition)?;
                if let (Some(known), true) = (is_const(&condition), self.guard.is_some()) {
                    let chosen = if known != 0 { Some(&branch.node.then_statement) } else { branch.node.else_statement.as_ref() };
                    return chosen.map_or(Ok(()), |statement| self.statement(statement));
                }
                let before = self.knowledge();
                let yes = self.apart(|lower| lower.statement(&branch.node.then_statement))?;
                let after = self.knowledge();
                self.know(before);
                let no = match &branch.node.else_statement {
                    Some(statement) => self.apart(|lower| lower.statement(statement))?,
                    None => Vec::new(),
                };
                self.know_either(after);
                self.branch(condition, yes, no, at);
                Ok(())
            }
            Statement::While(repeat) => self.repeat(Some(&repeat.node.expression), None, &repeat.node.statement, at),
            Statement::DoWhile(repeat) => self.do_while(&repeat.node.statement, &repeat.node.expression, at),
            Statement::For(repeat) => {
                self.scopes.push(HashMap::new());
                let result = self.for_loop(&repeat.node, at);
                self.scopes.pop();
                result
            }
            Statement::Switch(switch) => self.switch(&switch.node, at),
            Statement::Break => match self.around.last_mut() {
                Some(around) => {
                    around.left = true;
                    let label = around.leave.clone();
                    self.jump(&label, at)
                }
                None => Err(self.wrong(at, "`break` outside a loop")),
            },
            Statement::Continue => {
                let next = self.around.iter_mut().rev().find_map(|around| around.next.as_mut());
                match next {
                    Some((label, used)) => {
                        *used = true;
                        let label = label.clone();
                        self.jump(&label, at)
                    }
                    None => Err(self.wrong(at, "`continue` outside a loop")),
                }
            }
            Statement::Return(value) => self.leave(value.as_deref(), at),
            Statement::Labeled(labeled) => match &labeled.node.label.node {
                Label::Identifier(name) => {
                    let goto = self.goto_label(&name.node.name);
                    if std::mem::replace(&mut goto.set, true) {
                        return Err(self.wrong(name.span, "this label is set twice"));
                    }
                    let label = goto.label.clone();
                    self.set_label(&label, at);
                    self.statement(&labeled.node.statement)
                }
                _ => {
                    Err(self.wrong_with(at, "a `case` in an inner block is not supported", "write it in the block of the `switch` itself"))
                }
            },
            Statement::Goto(name) => {
                let goto = self.goto_label(&name.node.name);
                goto.used.get_or_insert(name.span);
                let label = goto.label.clone();
                self.jump(&label, at)
            }
            Statement::Asm(_) => Err(self.wrong(at, "assembler is not supported")),
        }
    }

    /// Gives back the scratch variables that have been taken since, but for those that are shared
    /// by the whole fragment.
    fn release(&mut self, taken: Vec<bool>) {
        let slots = self.taken.len();
        self.taken = taken;
        self.taken.resize(slots, false);
        for &slot in self.recursion.pinned() {
            self.taken[slot] = true;
        }
    }

    fn goto_label(&mut self, name: &str) -> &mut Goto {
        let label = self.label("label");
        self.gotos.entry(name.to_owned()).or_insert(Goto { label, set: false, used: None })
    }

    /// Checks that every `goto` has found its label.
    pub(super) fn labels_are_set(&mut self) -> Result<(), Stop> {
        let missing = self.gotos.iter().filter(|(_, goto)| !goto.set).filter_map(|(name, goto)| Some((goto.used?, name.clone())));
        let missing = missing.min_by_key(|(span, _)| span.start);
        missing.map_or(Ok(()), |(span, name)| Err(self.wrong(span, format!("there is no label `{name}` in this piece of C"))))
    }

    /// The steps that `make` makes, separate from those made so far.
    pub(super) fn apart(&mut self, make: impl FnOnce(&mut Self) -> Result<(), Stop>) -> Result<Vec<Stm>, Stop> {
        let before = std::mem::take(&mut self.out);
        let result = make(self);
        let made = std::mem::replace(&mut self.out, before);
        result.map(|()| made)
    }

    pub(super) fn branch(&mut self, condition: Ex, mut yes: Vec<Stm>, mut no: Vec<Stm>, at: CSpan) {
        let span = self.at(at);
        match condition {
            Ex::Const(0) => self.out.append(&mut no),
            Ex::Const(_) => self.out.append(&mut yes),
            condition => {
                yes.insert(0, Stm { node: Node::Basic(Action::Guard(condition)), span });
                no.insert(0, Stm { node: Node::Else, span });
                self.out.push(Stm { node: Node::If(vec![yes, no]), span });
            }
        }
    }

    fn declaration(&mut self, declaration: &Declaration, at: CSpan) -> Result<(), Stop> {
        let is_static = is_static(declaration);
        for (name, ty, initializer) in self.variables(declaration)? {
            if is_static {
                self.static_variable(&name, &ty, initializer.as_ref(), at)?;
                continue;
            }
            let binding = match (&ty, initializer.as_ref().map(|initializer| &initializer.node)) {
                (CType::Pointer(to), Some(Initializer::Expression(expression)))
                    if !self.moving.contains(&name) && self.pointee(expression).is_some_and(|from| from == **to) =>
                {
                    let object = self.pointer(expression)?;
                    Binding::Pointer(self.fixed(object, at)?)
                }
                _ => {
                    let object = self.temporary(&ty, at)?;
                    self.start(&object, initializer.as_ref(), at)?;
                    Binding::Object(object)
                }
            };
            if let Some(scope) = self.scopes.last_mut() {
                scope.insert(name, binding);
            }
        }
        Ok(())
    }

    /// The name of a static variable among those of C.
    pub(super) fn static_name(&self, name: &str) -> String {
        format!("{}'{name}", self.inside)
    }

    /// A variable that a function keeps: it is made once, and SPIN does not track it.
    fn static_variable(&mut self, name: &str, ty: &CType, initializer: Option<&CNode<Initializer>>, at: CSpan) -> Result<(), Stop> {
        let name = self.static_name(name);
        if self.r.c.objects.contains_key(&name) {
            return Ok(());
        }
        let object = self.allocate_in(Scope::Global, &name, ty, false, at)?;
        if let Some(initializer) = initializer {
            self.initial_values(&object, &initializer.node, initializer.span)?;
        }
        self.r.c.objects.insert(name, object);
        Ok(())
    }

    /// The initial value of a variable of a fragment. Without one it is zero, so that the same
    /// state always has the same successors.
    pub(super) fn start(&mut self, object: &Object, initializer: Option<&CNode<Initializer>>, at: CSpan) -> Result<(), Stop> {
        match initializer.map(|initializer| &initializer.node) {
            None => self.fill(object, 0, at),
            Some(Initializer::Expression(expression)) => match object.ty {
                CType::Struct(_) => {
                    let from = self.object(expression)?;
                    self.copy(object, &from, at)
                }
                CType::Pointer(ref to) => {
                    self.may_be_cast(expression, to, at)?;
                    let address = self.address(expression)?;
                    self.store(object, int(address), at)
                }
                CType::Array(_, length) if matches!(expression.node, Expression::StringLiteral(_)) => {
                    let Expression::StringLiteral(text) = &expression.node else { return Err(Stop) };
                    let bytes = super::strings::bytes(&text.node);
                    (0..length).try_for_each(|position| {
                        let element = self.element(object, Ex::Const(position as i32));
                        let byte = bytes.get(position as usize).copied().unwrap_or(0);
                        self.store(&element, int(Ex::Const(i32::from(byte as i8))), at)
                    })
                }
                _ => {
                    let value = self.value(expression)?;
                    self.store(object, value, at)
                }
            },
            Some(Initializer::List(items)) if matches!(object.ty, CType::Int(_) | CType::Pointer(_)) => match items.as_slice() {
                [item] => self.start(object, Some(&item.node.initializer), at),
                _ => Err(self.wrong(at, "this initial value does not fit the type")),
            },
            Some(Initializer::List(items)) => {
                self.fill(object, 0, at)?;
                for (_, part, item) in self.initialised_parts(object, items, at)? {
                    self.start(&part, Some(&item), item.span)?;
                }
                Ok(())
            }
        }
    }

    fn for_loop(&mut self, repeat: &lang_c::ast::ForStatement, at: CSpan) -> Result<(), Stop> {
        match &repeat.initializer.node {
            ForInitializer::Empty | ForInitializer::StaticAssert(_) => {}
            ForInitializer::Expression(expression) => self.effect(expression)?,
            ForInitializer::Declaration(declaration) => self.declaration(&declaration.node, declaration.span)?,
        }
        self.repeat(repeat.condition.as_deref(), repeat.step.as_deref(), &repeat.statement, at)
    }

    pub(super) fn enter(&mut self) {
        let (leave, next) = (self.label("break"), self.label("continue"));
        self.around.push(Around { leave, left: false, next: Some((next, false)) });
    }

    /// The end of a loop whose body has been made.
    fn finish(&mut self, round: Vec<Stm>, at: CSpan) -> Result<(), Stop> {
        let around = self.around.pop().ok_or(Stop)?;
        let span = self.at(at);
        self.out.push(Stm { node: Node::Do(vec![round]), span });
        if around.left {
            self.set_label(&around.leave, at);
        }
        Ok(())
    }

    /// Leaves the loop unless a condition holds.
    fn unless(&mut self, condition: Option<&CNode<Expression>>, at: CSpan) -> Result<(), Stop> {
        let Some(condition) = condition else { return Ok(()) };
        let value = self.condition(condition)?;
        self.leave_unless(value, at)
    }

    pub(super) fn leave_unless(&mut self, value: Ex, at: CSpan) -> Result<(), Stop> {
        if matches!(value, Ex::Const(n) if n != 0) {
            return Ok(());
        }
        let around = self.around.last_mut().ok_or(Stop)?;
        around.left = true;
        let label = around.leave.clone();
        let before = self.knowledge();
        let leave = self.apart(|lower| lower.jump(&label, at))?;
        self.know(before);
        self.branch(value, Vec::new(), leave, at);
        Ok(())
    }

    pub(super) fn next_round(&mut self, at: CSpan) {
        let label = self.around.last().and_then(|around| around.next.clone());
        if let Some((label, true)) = label {
            self.set_label(&label, at);
        }
    }

    fn repeat(
        &mut self,
        condition: Option<&CNode<Expression>>,
        step: Option<&CNode<Expression>>,
        body: &CNode<Statement>,
        at: CSpan,
    ) -> Result<(), Stop> {
        if self.guard.is_some() {
            return self.turns(condition, step, body, false, at);
        }
        self.enter();
        let round = self.apart(|lower| {
            lower.nothing(at);
            lower.unless(condition, at)?;
            lower.statement(body)?;
            lower.next_round(at);
            step.map_or(Ok(()), |step| lower.effect(step))
        });
        let round = round?;
        self.finish(round, at)
    }

    fn do_while(&mut self, body: &CNode<Statement>, condition: &CNode<Expression>, at: CSpan) -> Result<(), Stop> {
        if self.guard.is_some() {
            return self.turns(Some(condition), None, body, true, at);
        }
        self.enter();
        let round = self.apart(|lower| {
            lower.nothing(at);
            lower.statement(body)?;
            lower.next_round(at);
            lower.unless(Some(condition), at)
        });
        let round = round?;
        self.finish(round, at)
    }

    fn nothing(&mut self, at: CSpan) {
        let span = self.at(at);
        self.out.push(Stm { node: Node::Basic(Action::Skip), span });
    }

    /// Jumps to the case, then the body with labels.
    fn switch(&mut self, switch: &lang_c::ast::SwitchStatement, at: CSpan) -> Result<(), Stop> {
        let value = self.value(&switch.expression)?;
        let slot = self.temporary(&CType::Int(Int::new(32, true)), at)?;
        self.store(&slot, int(value.ex), at)?;
        let value: Value = self.load(&slot, at)?;
        let Statement::Compound(items) = &switch.statement.node else { return Err(self.wrong(at, "a `switch` has a block")) };
        // The labels of each item, outermost first, and what follows them.
        let mut cases: Vec<(Option<i32>, Text)> = Vec::new();
        let mut parts: Vec<(Vec<Text>, &BlockItem, CSpan)> = Vec::new();
        for item in items {
            let mut labels = Vec::new();
            if let BlockItem::Statement(statement) = &item.node
                && let Statement::Labeled(_) = &statement.node
            {
                let mut inner = statement;
                while let Statement::Labeled(labeled) = &inner.node {
                    let case = match &labeled.node.label.node {
                        Label::Case(value) => Some(self.constant(value)?),
                        Label::Default => None,
                        // A label for `goto` is part of the statement.
                        Label::Identifier(_) => break,
                        Label::CaseRange(_) => return Err(self.wrong(inner.span, "a range of cases is not C")),
                    };
                    let label = self.label("case");
                    cases.push((case, label.clone()));
                    labels.push(label);
                    inner = &labeled.node.statement;
                }
                parts.push((labels, &item.node, inner.span));
            } else {
                parts.push((labels, &item.node, item.span));
            }
        }
        let leave = self.label("break");
        self.around.push(Around { leave: leave.clone(), left: true, next: None });
        let span = self.at(at);
        let mut options: Vec<Vec<Stm>> = Vec::new();
        // Whether the case is known when the model is read.
        let mut certain = false;
        for (case, label) in cases.iter().filter(|(case, _)| case.is_some()) {
            let Some(case) = case else { continue };
            let equal = super::expression::binary(Binary::Eq, value.ex.clone(), Ex::Const(*case));
            if self.guard.is_some() {
                match equal {
                    Ex::Const(0) => continue,
                    Ex::Const(_) => {
                        certain = true;
                        options.clear();
                        options.push(vec![Stm { node: Node::Else, span }]);
                    }
                    _ => {}
                }
            }
            let before = self.knowledge();
            let jump = self.apart(|lower| lower.jump(label, at))?;
            if certain {
                if let Some(option) = options.last_mut() {
                    option.extend(jump);
                }
                break;
            }
            self.know(before);
            let mut option = vec![Stm { node: Node::Basic(Action::Guard(equal)), span }];
            option.extend(jump);
            options.push(option);
        }
        let default = cases.iter().find(|(case, _)| case.is_none()).map_or(&leave, |(_, label)| label).clone();
        let jump = if certain { Vec::new() } else { self.apart(|lower| lower.jump(&default, at))? };
        if certain {
            self.out.push(Stm { node: Node::If(options), span });
        } else if options.is_empty() {
            self.out.extend(jump);
        } else {
            let mut option = vec![Stm { node: Node::Else, span }];
            option.extend(jump);
            options.push(option);
            self.out.push(Stm { node: Node::If(options), span });
        }
        self.scopes.push(HashMap::new());
        let result = parts.into_iter().try_for_each(|(labels, item, span)| {
            for label in &labels {
                self.set_label(label, span);
            }
            match item {
                BlockItem::Declaration(declaration) => self.declaration(&declaration.node, declaration.span),
                BlockItem::StaticAssert(_) => Ok(()),
                BlockItem::Statement(statement) => {
                    let mut inner = statement;
                    while let Statement::Labeled(labeled) = &inner.node
                        && !matches!(labeled.node.label.node, Label::Identifier(_))
                    {
                        inner = &labeled.node.statement;
                    }
                    self.statement(inner)
                }
            }
        });
        self.scopes.pop();
        self.around.pop();
        result?;
        self.set_label(&leave, at);
        Ok(())
    }

    fn leave(&mut self, value: Option<&CNode<Expression>>, at: CSpan) -> Result<(), Stop> {
        let target = match self.returns.last() {
            Some(call) => call.value.clone(),
            None => return Err(self.wrong(at, "`return` outside a function")),
        };
        match (target, value) {
            (Some(target), Some(value)) if matches!(target.ty, CType::Struct(_)) => {
                let from = self.object(value)?;
                self.copy(&target, &from, at)?;
            }
            (Some(target), Some(value)) => {
                let value = match target.ty {
                    CType::Pointer(_) => int(self.address(value)?),
                    _ => self.value(value)?,
                };
                self.store(&target, value, at)?;
            }
            (None, Some(value)) => self.effect(value)?,
            (Some(_), None) => return Err(self.wrong(at, "a value is missing")),
            (None, None) => {}
        }
        let Some(call) = self.returns.last_mut() else { return Err(Stop) };
        call.used = true;
        let end = call.end.clone();
        self.jump(&end, at)
    }
}

pub(super) fn is_static(declaration: &Declaration) -> bool {
    declaration.specifiers.iter().any(
        |specifier| matches!(&specifier.node, DeclarationSpecifier::StorageClass(class) if class.node == StorageClassSpecifier::Static),
    )
}
