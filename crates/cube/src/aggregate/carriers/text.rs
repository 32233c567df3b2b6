//! MIN and MAX of texts, byte by byte.

use super::super::values::Values;
use super::{Carriers, same, saved};
use crate::error::CubeError;
use arrow::array::{ArrayRef, AsArray, StringArray};
use std::sync::Arc;

pub(super) fn of<const MAX: bool>() -> Box<dyn Carriers> {
    Box::new(Texts::<MAX> { best: Vec::new(), held: 0 })
}

struct Texts<const MAX: bool> {
    best: Vec<Option<Box<str>>>,
    /// Bytes of the texts.
    held: usize,
}

impl<const MAX: bool> Texts<MAX> {
    fn offer(&mut self, group: u32, text: &str) {
        let best = &mut self.best[group as usize];
        let is_better = match best {
            None => true,
            Some(best) if MAX => text > &**best,
            Some(best) => text < &**best,
        };
        if is_better {
            let before = best.replace(text.into());
            self.held = self.held + text.len() - before.map_or(0, |before| before.len());
        }
    }
}

impl<const MAX: bool> Carriers for Texts<MAX> {
    fn grow(&mut self, groups: usize) {
        self.best.resize(groups, None);
    }

    fn add(&mut self, groups: &[u32], values: &Values<'_>) -> Result<(), CubeError> {
        let Some(array) = values.array() else { return Ok(()) };
        let texts = array.as_string::<i32>();
        values.for_each_selected(|row| self.offer(groups[row], texts.value(row)));
        Ok(())
    }

    fn merge(&mut self, groups: &[u32], from: &dyn Carriers, rows: &[u32]) -> Result<(), CubeError> {
        let from = same::<Self>(from)?;
        for (group, row) in groups.iter().zip(rows) {
            if let Some(text) = &from.best[*row as usize] {
                self.offer(*group, text);
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ArrayRef, CubeError> {
        Ok(Arc::new(self.best.into_iter().collect::<StringArray>()))
    }

    fn bytes(&self) -> usize {
        self.best.capacity() * size_of::<Option<Box<str>>>() + self.held
    }

    fn save(&self, groups: &[u32]) -> Result<Option<Vec<ArrayRef>>, CubeError> {
        let texts = groups.iter().map(|group| self.best[*group as usize].as_deref());
        Ok(Some(vec![Arc::new(texts.collect::<StringArray>())]))
    }

    fn load(&mut self, columns: &[ArrayRef]) -> Result<(), CubeError> {
        let [texts] = saved::columns(columns)?;
        self.best = texts.as_string::<i32>().iter().map(|text| text.map(Into::into)).collect();
        self.held = self.best.iter().flatten().map(|text| text.len()).sum();
        Ok(())
    }
}
