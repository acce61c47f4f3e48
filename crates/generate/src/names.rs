//! Names and their types, as far as a translation to C needs them.

use promela::ast::{
    Declaration, Expr, ExprKind, Fragment, Initial, Model, Reference, Step, Stmt, StmtKind, TypeName, Typedef, Unit, Variable,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The names declared outside processes.
pub(crate) struct Names<'a> {
    pub typedefs: BTreeMap<String, &'a Typedef>,
    /// Globals in the order of the text.
    pub globals: Vec<(&'a Declaration, &'a Variable)>,
    /// The globals that pieces of C name and whose names nothing else has.
    pub macros: BTreeSet<String>,
    by_name: HashMap<String, (TypeName, bool)>,
    pub mtypes: Vec<(Option<String>, Vec<String>)>,
    /// The types of local variables of the present process.
    pub locals: HashMap<String, (TypeName, bool)>,
    /// The bits of variables declared `unsigned`.
    pub widths: HashMap<String, i32>,
    /// Whether processes share anything.
    pub shares: bool,
    /// Whether some channel has no capacity.
    pub rendezvous: bool,
    /// The variables that are initialised with channels.
    pub channels: BTreeSet<String>,
}

impl<'a> Names<'a> {
    pub fn of(model: &'a Model) -> Names<'a> {
        let mut names = Names {
            typedefs: BTreeMap::new(),
            globals: Vec::new(),
            macros: BTreeSet::new(),
            by_name: HashMap::new(),
            mtypes: Vec::new(),
            locals: HashMap::new(),
            widths: HashMap::new(),
            shares: false,
            rendezvous: false,
            channels: BTreeSet::new(),
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
        names.shares = !names.globals.is_empty() || survey.channels;
        names.rendezvous = survey.rendezvous;
        let globals = names.globals.iter().map(|(_, variable)| variable.name.text.to_string());
        names.macros = globals.filter(|name| survey.in_c.contains(name) && !survey.declared.contains(name)).collect();
        names
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
                        let path = format!("{path}.{}", variable.name.text);
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
    in_c: BTreeSet<String>,
    channels: bool,
    rendezvous: bool,
}

impl Survey {
    fn fragment(&mut self, fragment: &Fragment) {
        let words = fragment.text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        self.in_c.extend(words.filter(|word| !word.is_empty()).map(str::to_owned));
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
            StmtKind::Expr(Expr { kind: ExprKind::Embedded(fragment, _), .. }) => self.fragment(fragment),
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
