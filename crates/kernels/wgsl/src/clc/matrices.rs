//! Matrices as structs of columns. The columns have the memory form, as array elements do.

use std::fmt::Write as _;

use naga::{BinaryOperator, Expression, Handle, Scalar, TypeInner, VectorSize};

use super::constants::element_braces;
use super::error::Error;
use super::functions::Body;
use super::operators::symbol;
use super::types::{LANES, Leaf};
use super::writer::Writer;

/// Dimensions and scalar type of a matrix.
#[derive(Debug, Clone, Copy)]
struct Shape {
    columns: VectorSize,
    rows: VectorSize,
    scalar: Scalar,
}

impl Shape {
    fn of(inner: &TypeInner) -> Option<Shape> {
        match *inner {
            TypeInner::Matrix { columns, rows, scalar } => Some(Shape { columns, rows, scalar }),
            _ => None,
        }
    }

    fn column(self) -> Leaf {
        Leaf { scalar: self.scalar, size: Some(self.rows) }
    }

    fn row(self) -> Leaf {
        Leaf { scalar: self.scalar, size: Some(self.columns) }
    }
}

impl Writer<'_> {
    pub(super) fn matrix_type(&mut self, columns: VectorSize, rows: VectorSize, scalar: Scalar) -> String {
        let leaf = Leaf { scalar, size: Some(rows) };
        let name = format!("roci_{}{}x{}", self.memory_scalar(leaf), columns as u8, rows as u8);
        let column = if rows == VectorSize::Tri { self.padded(leaf) } else { self.memory(leaf) };
        let definition = format!("typedef struct {{ {column} c[{}]; }} {name};\n", columns as u8);
        self.matrices.insert(name.clone(), definition);
        name
    }

    fn shape_type(&mut self, shape: Shape) -> String {
        self.matrix_type(shape.columns, shape.rows, shape.scalar)
    }

    /// Column `index` of the matrix `whole`, in register form.
    fn column_of(&mut self, shape: Shape, whole: &str, index: usize) -> String {
        let suffix = if shape.rows == VectorSize::Tri { ".v" } else { "" };
        self.loaded(shape.column(), format!("{whole}.c[{index}]{suffix}"))
    }

    /// A matrix from its columns in register form.
    fn matrix_of(&mut self, shape: Shape, columns: &[String]) -> String {
        let stored: Vec<String> = columns.iter().map(|column| self.stored(shape.column(), column.clone())).collect();
        let name = self.shape_type(shape);
        format!("({name}){}", element_braces(&stored, shape.rows == VectorSize::Tri))
    }

    /// The columns of a matrix that is composed of columns or of scalars.
    pub(super) fn columns(
        &self,
        rows: VectorSize,
        scalar: Scalar,
        parts: Vec<(Option<Leaf>, String)>,
    ) -> Vec<(Option<Leaf>, String)> {
        let leaf = Leaf { scalar, size: Some(rows) };
        if parts.iter().all(|(part, _)| part.is_some_and(Leaf::is_vector)) {
            return parts;
        }
        parts.chunks(rows as usize).map(|chunk| (Some(leaf), self.compose_vector(leaf, chunk.to_vec()))).collect()
    }

    /// Adds or subtracts two matrices column by column.
    fn matrix_by_column(&mut self, name: &str, operator: &str, shape: Shape, arguments: &[String]) -> String {
        let ty = self.shape_type(shape);
        let results: Vec<String> = (0..shape.columns as usize)
            .map(|index| {
                let (a, b) = (self.column_of(shape, "a", index), self.column_of(shape, "b", index));
                format!("{a} {operator} {b}")
            })
            .collect();
        let result = self.matrix_of(shape, &results);
        self.matrix_function(&format!("{ty}_{name}"), &ty, &format!("{ty} a, {ty} b"), &result, arguments)
    }

    /// Generates a function with a single `return` and calls it.
    fn matrix_function(
        &mut self,
        name: &str,
        result_type: &str,
        parameters: &str,
        result: &str,
        arguments: &[String],
    ) -> String {
        let text = format!("ROCI_FN {result_type} {name}({parameters}) {{\n    return {result};\n}}\n");
        self.generate(name, text);
        format!("{name}({})", arguments.join(", "))
    }

    pub(super) fn convert_matrix(
        &mut self,
        columns: VectorSize,
        rows: VectorSize,
        from: Scalar,
        to: Scalar,
        text: String,
    ) -> String {
        if from == to {
            return text;
        }
        let (source, target) = (Shape { columns, rows, scalar: from }, Shape { columns, rows, scalar: to });
        let parts: Vec<String> = (0..columns as usize)
            .map(|index| {
                let column = self.column_of(source, "a", index);
                self.convert_leaf(source.column(), to, column)
            })
            .collect();
        let result = self.matrix_of(target, &parts);
        let (source_type, target_type) = (self.shape_type(source), self.shape_type(target));
        let name = format!("{source_type}_to_{}", target_type.trim_start_matches("roci_"));
        self.matrix_function(&name, &target_type, &format!("{source_type} a"), &result, &[text])
    }

    /// The linear combination `a.c[0] * b.x + a.c[1] * b.y + …`.
    fn combination(&mut self, shape: Shape, matrix: &str, vector: &str) -> String {
        let terms: Vec<String> = (0..shape.columns as usize)
            .map(|index| format!("{} * {vector}.{}", self.column_of(shape, matrix, index), LANES[index]))
            .collect();
        terms.join(" + ")
    }

    fn matrix_times_vector(&mut self, shape: Shape, arguments: &[String]) -> String {
        let ty = self.shape_type(shape);
        let (vector, result) = (self.register(shape.row()), self.register(shape.column()));
        let text = self.combination(shape, "a", "b");
        self.matrix_function(&format!("{ty}_times_vector"), &result, &format!("{ty} a, {vector} b"), &text, arguments)
    }

    fn vector_times_matrix(&mut self, shape: Shape, arguments: &[String]) -> String {
        let ty = self.shape_type(shape);
        let (vector, result) = (self.register(shape.column()), self.register(shape.row()));
        let dots: Vec<String> = (0..shape.columns as usize)
            .map(|index| {
                let column = self.column_of(shape, "b", index);
                self.dot(shape.column(), "a".to_owned(), column)
            })
            .collect();
        let text = format!("({result})({})", dots.join(", "));
        self.matrix_function(&format!("{ty}_after_vector"), &result, &format!("{vector} a, {ty} b"), &text, arguments)
    }

    fn matrix_times_matrix(&mut self, left: Shape, right: Shape, arguments: &[String]) -> String {
        let result = Shape { columns: right.columns, ..left };
        let columns: Vec<String> = (0..right.columns as usize)
            .map(|index| {
                let column = self.column_of(right, "b", index);
                self.matrix_times_vector(left, &["a".to_owned(), column])
            })
            .collect();
        let text = self.matrix_of(result, &columns);
        let (a, b, ty) = (self.shape_type(left), self.shape_type(right), self.shape_type(result));
        let name = format!("{a}_times_{}", b.trim_start_matches("roci_"));
        self.matrix_function(&name, &ty, &format!("{a} a, {b} b"), &text, arguments)
    }

    fn scaled_matrix(&mut self, shape: Shape, arguments: &[String]) -> String {
        let ty = self.shape_type(shape);
        let scalar = self.register(shape.column().component());
        let columns: Vec<String> =
            (0..shape.columns as usize).map(|index| format!("{} * b", self.column_of(shape, "a", index))).collect();
        let text = self.matrix_of(shape, &columns);
        self.matrix_function(&format!("{ty}_scaled"), &ty, &format!("{ty} a, {scalar} b"), &text, arguments)
    }

    pub(super) fn transpose(&mut self, inner: &TypeInner, argument: String) -> Option<String> {
        let shape = Shape::of(inner)?;
        let result = Shape { columns: shape.rows, rows: shape.columns, ..shape };
        let columns: Vec<String> = (0..result.columns as usize)
            .map(|row| {
                let parts: Vec<String> = (0..shape.columns as usize)
                    .map(|column| format!("{}.{}", self.column_of(shape, "a", column), LANES[row]))
                    .collect();
                format!("({})({})", self.register(result.column()), parts.join(", "))
            })
            .collect();
        let text = self.matrix_of(result, &columns);
        let (ty, result) = (self.shape_type(shape), self.shape_type(result));
        Some(self.matrix_function(&format!("{ty}_transposed"), &result, &format!("{ty} a"), &text, &[argument]))
    }

    pub(super) fn determinant(&mut self, inner: &TypeInner, argument: String) -> Option<String> {
        let shape = Shape::of(inner)?;
        let (ty, scalar) = (self.shape_type(shape), self.register(shape.column().component()));
        let size = shape.columns as usize;
        let mut text = format!("ROCI_FN {scalar} {ty}_determinant({ty} a) {{\n");
        for index in 0..size {
            let column = self.column_of(shape, "a", index);
            let _ = writeln!(text, "    const {} c{index} = {column};", self.register(shape.column()));
        }
        let all: Vec<usize> = (0..size).collect();
        let _ = writeln!(text, "    return {};\n}}", minor(&all, 0));
        self.generate(&format!("{ty}_determinant"), text);
        Some(format!("{ty}_determinant({argument})"))
    }
}

/// The determinant of the given columns and the rows from `row` on, by Laplace expansion.
fn minor(columns: &[usize], row: usize) -> String {
    if let [column] = columns {
        return format!("c{column}.{}", LANES[row]);
    }
    let mut text = String::from("(");
    for (position, column) in columns.iter().enumerate() {
        let rest: Vec<usize> = columns.iter().copied().filter(|other| other != column).collect();
        let sign = if position % 2 == 0 { "+" } else { "-" };
        let sign = if position == 0 { String::new() } else { format!(" {sign} ") };
        let _ = write!(text, "{sign}c{column}.{} * {}", LANES[row], minor(&rest, row + 1));
    }
    text + ")"
}

impl Body<'_, '_> {
    pub(super) fn matrix_binary(
        &mut self,
        op: BinaryOperator,
        left: &TypeInner,
        right: &TypeInner,
        arguments: [String; 2],
        whole: Handle<Expression>,
    ) -> Result<String, Error> {
        if let TypeInner::CooperativeMatrix { .. } = left {
            return Ok(format!("({} {} {})", arguments[0], symbol(op), arguments[1]));
        }
        let writer = &mut self.writer;
        let named = match op {
            BinaryOperator::Add => "plus",
            BinaryOperator::Subtract => "minus",
            BinaryOperator::Multiply => "times",
            _ => return self.unsupported("matrix operator", whole),
        };
        Ok(match (Shape::of(left), Shape::of(right), op) {
            (Some(a), Some(b), BinaryOperator::Multiply) => writer.matrix_times_matrix(a, b, &arguments),
            (Some(a), Some(_), _) => writer.matrix_by_column(named, symbol(op), a, &arguments),
            (Some(a), None, _) if matches!(right, TypeInner::Vector { .. }) => {
                writer.matrix_times_vector(a, &arguments)
            }
            (Some(a), None, _) => writer.scaled_matrix(a, &arguments),
            (None, Some(b), _) if matches!(left, TypeInner::Vector { .. }) => writer.vector_times_matrix(b, &arguments),
            (None, Some(b), _) => {
                let [scalar, matrix] = arguments;
                writer.scaled_matrix(b, &[matrix, scalar])
            }
            (None, None, _) => return self.unsupported("matrix operator", whole),
        })
    }
}
