//! Names and their types, as needed for the translation to C.

use promela::ast::{
    Declaration, Expr, ExprKind, Fragment, Initial, Model, Reference, Step, Stmt, StmtKind, TypeName, Typedef, Unit, Variable,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The names declared outside processes.
pub(crate) struct Names<'a> {
    pub typedefs: BTreeMap<String, &'a Typedef>,
    /// Globals in the order of the text.
    pub globals: Vec<(&'a Declaration, &'a Variable)>,
    by_name: HashMap<String, (TypeName, bool)>,
    pub mtypes: Vec<(Option<String>, Vec<String>)>,
    /// The types of local variables of the current process.
    pub locals: HashMap<String, (TypeName, bool)>,
    /// The lengths of local arrays of the current process.
    pub lengths: HashMap<String, Option<i32>>,
    /// The bits of variables declared `unsigned`.
    pub widths: HashMap<String, i32>,
    /// Whether processes share anything.
    pub shares: bool,
    /// Whether some channel has no capacity.
    pub rendezvous: bool,
    /// The variables that are initialised with channels.
    pub channels: BTreeSet<String>,
    /// All names that the text declares.
    declared: BTreeSet<String>,
}

impl<'a> Names<'a> {
    pub fn of(model: &'a Model) -> Names<'a> {
        let mut names = Names {
            typedefs: BTreeMap::new(),
            globals: Vec::new(),
            by_name: HashMap::new(),
            mtypes: Vec::new(),
            locals: HashMap::new(),
            widths: HashMap::new(),
            lengths: HashMap::new(),
            shares: false,
            rendezvous: false,
            channels: BTreeSet::new(),
            declared: BTreeSet::new(),
        };
        let mut survey = Survey::default();
        for unit in &model.units {
            match unit {
                Unit::Typedef(typedef) => {
                    typedef.fields.iter().for_each(|field| survey.declaration(field));
                    names.typedefs.insert(typedef.name.text.to_string(), typedef);
                }
                Unit::Declaration(declaration) => {
                    for variable in &declaration.variables {
                        names.by_name.insert(variable.name.text.to_string(), (declaration.ty.clone(), variable.length.is_some()));
                        if let Some(width) = variable.width.as_ref().and_then(number) {
                            names.widths.insert(variable.name.text.to_string(), width);
                        }
                        names.globals.push((declaration, variable));
                        survey.initial(variable);
                    }
                }
                Unit::Mtype(set) => {
                    let name = set.set.as_ref().map(|name| name.text.to_string());
                    let values: Vec<String> = set.names.iter().rev().map(|name| name.text.to_string()).collect();
                    match names.mtypes.iter_mut().find(|(known, _)| *known == name) {
                        Some((_, known)) => known.extend(values),
                        None => names.mtypes.push((name, values)),
                    }
                }
                Unit::Proctype(process) => {
                    process.parameters.iter().for_each(|parameter| survey.declaration(parameter));
                    survey.steps(&process.body);
                }
                Unit::Embedded(promela::ast::Embedded::Declarations(fragment)) => survey.fragment(fragment),
                _ => {}
            }
        }
        names.shares = !names.globals.is_empty() || survey.channels || survey.numbers;
        names.declared = survey.declared.clone();
        names.declared.extend(names.by_name.keys().chain(names.typedefs.keys()).cloned());
        names.declared.extend(names.mtypes.iter().flat_map(|(_, values)| values).cloned());
        names.rendezvous = survey.rendezvous;
        names
    }

    /// The name of a variable, a field or a label in C.
    pub fn inside(&self, name: &str) -> String {
        crate::reserved::inside(name, &self.declared)
    }

    /// The name of a type or a message in C.
    pub fn outside(&self, name: &str) -> String {
        crate::reserved::outside(name, &self.declared)
    }

    /// The value of a message name.
    pub fn message(&self, name: &str) -> Option<usize> {
        self.mtypes.iter().find_map(|(_, values)| values.iter().position(|value| value == name)).map(|position| position + 1)
    }

    /// The type of a global variable, and whether it is an array.
    pub fn global(&self, name: &str) -> Option<&(TypeName, bool)> {
        self.by_name.get(name)
    }

    pub fn is_global(&self, name: &str) -> bool {
        self.by_name.contains_key(name) && !self.locals.contains_key(name)
    }

    pub fn is_variable(&self, name: &str) -> bool {
        self.by_name.contains_key(name) || self.locals.contains_key(name)
    }

    /// The length of the array that this part of a reference names, if it is known.
    pub fn length(&self, reference: &Reference, part: usize) -> Option<i32> {
        let name = &reference.parts.get(part)?.name.text;
        if part == 0 {
            if let Some(length) = self.lengths.get(&**name) {
                return *length;
            }
            let (_, variable) = self.globals.iter().find(|(_, variable)| variable.name.text == *name)?;
            return variable.length.as_ref().and_then(number);
        }
        // The fields of a structure are few, and the check costs little.
        None
    }

    /// The type of a reference, and whether it is a whole array.
    pub fn type_of(&self, reference: &Reference) -> Option<(TypeName, bool)> {
        let mut parts = reference.parts.iter();
        let first = parts.next()?;
        let (mut ty, mut array) = self.locals.get(&*first.name.text).or_else(|| self.by_name.get(&*first.name.text))?.clone();
        array &= first.index.is_none();
        for part in parts {
            let TypeName::User(name) = &ty else { return None };
            let fields = &self.typedefs.get(&*name.text)?.fields;
            let found = fields.iter().find_map(|field| {
                let variable = field.variables.iter().find(|variable| variable.name.text == part.name.text)?;
                Some((field.ty.clone(), variable.length.is_some()))
            })?;
            (ty, array) = (found.0, found.1 && part.index.is_none());
        }
        Some((ty, array))
    }

    /// The scalars of a structure: the path to each, and its type.
    pub fn leaves(&self, ty: &TypeName, path: &str, depth: usize, out: &mut Vec<(String, TypeName)>) {
        match ty {
            TypeName::User(name) if depth < 32 => {
                let Some(typedef) = self.typedefs.get(&*name.text) else { return };
                for field in &typedef.fields {
                    for variable in &field.variables {
                        let path = format!("{path}.{}", self.inside(&variable.name.text));
                        match variable.length.as_ref().and_then(number) {
                            Some(length) => {
                                for i in 0..length.min(32) {
                                    self.leaves(&field.ty, &format!("{path}[{i}]"), depth + 1, out);
                                }
                            }
                            None => self.leaves(&field.ty, &path, depth + 1, out),
                        }
                    }
                }
            }
            ty => out.push((path.to_owned(), ty.clone())),
        }
    }
}

/// The value of a number literal.
pub(crate) fn number(expr: &Expr) -> Option<i32> {
    match expr.kind {
        ExprKind::Number(n) => Some(n),
        _ => None,
    }
}

/// The names that a program mentions.
#[derive(Default)]
struct Survey {
    declared: BTreeSet<String>,
    channels: bool,
    rendezvous: bool,
    /// Whether the numbers of processes matter.
    numbers: bool,
}

impl Survey {
    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Ref(reference) => {
                self.numbers |= matches!(reference.parts.as_slice(), [part] if matches!(&*part.name.text, "_pid" | "_nr_pr"));
                reference.parts.iter().filter_map(|part| part.index.as_ref()).for_each(|index| self.expr(index));
            }
            ExprKind::Unary(_, a) => self.expr(a),
            ExprKind::Binary(_, a, b) => [a, b].into_iter().for_each(|part| self.expr(part)),
            ExprKind::Conditional(a, b, c) => [a, b, c].into_iter().for_each(|part| self.expr(part)),
            ExprKind::Run { arguments, .. } => {
                self.numbers = true;
                arguments.iter().for_each(|argument| self.expr(argument));
            }
            ExprKind::Embedded(fragment, condition) => {
                [fragment].into_iter().chain(condition).for_each(|fragment| self.fragment(fragment));
            }
            ExprKind::Probe(..) | ExprKind::Poll(_) => self.channels = true,
            _ => {}
        }
    }

    fn fragment(&mut self, fragment: &Fragment) {
        self.numbers |= fragment.text.contains("_pid");
    }

    fn initial(&mut self, variable: &Variable) {
        if let Some(Initial::Channel { capacity, .. }) = &variable.initial {
            self.channels = true;
            self.rendezvous |= number(capacity).is_none_or(|n| n == 0);
        }
    }

    fn declaration(&mut self, declaration: &Declaration) {
        for variable in &declaration.variables {
            self.declared.insert(variable.name.text.to_string());
            self.initial(variable);
        }
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Declaration(declaration) => self.declaration(declaration),
                Step::Exclusive(..) => {}
                Step::Statement(statement) => self.statement(statement),
            }
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        match &statement.kind {
            StmtKind::Embedded(fragment, condition) => {
                self.fragment(fragment);
                condition.iter().for_each(|condition| self.fragment(condition));
            }
            StmtKind::EmbeddedDeclarations(fragment) => self.fragment(fragment),
            // Whether a process could be started is known without numbers.
            StmtKind::Expr(Expr { kind: ExprKind::Run { arguments, .. }, .. }) => arguments.iter().for_each(|argument| self.expr(argument)),
            StmtKind::Expr(expr) | StmtKind::Assert(expr) | StmtKind::Printm(expr) | StmtKind::Assign(_, expr) => self.expr(expr),
            StmtKind::Printf(_, arguments) => arguments.iter().for_each(|argument| self.expr(argument)),
            StmtKind::Send { .. } | StmtKind::Receive(_) => self.channels = true,
            StmtKind::If(options) | StmtKind::Do(options) => options.iter().for_each(|option| self.steps(option)),
            StmtKind::For { body, .. } | StmtKind::Atomic(body) | StmtKind::DStep(body) | StmtKind::Block(body) => self.steps(body),
            StmtKind::Unless(a, b) => {
                self.statement(a);
                self.statement(b);
            }
            StmtKind::Label(name, inner) => {
                self.declared.insert(name.text.to_string());
                self.statement(inner);
            }
            _ => {}
        }
    }
}
