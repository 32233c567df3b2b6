//! Interceptors.

use super::{Map, MapStructure};
use crate::code::Code;
use crate::error::{GridError, GridResult};
use crate::invocation::Invocation;
use crate::map::interceptors::InterceptorId;
use std::sync::Arc;

impl Map {
    /// From the moment that this is done on, the interceptor that `code` says stands between the map and whoever uses it, behind those
    /// that are there; the id is what it is [removed](Map::remove_interceptor) by. One that is there already is not added again.
    /// It goes with the map.
    ///
    /// It is made on the `generic` stage, since that is user code. As long as a map has one, io loops run none of its operations.
    pub fn add_interceptor(&self, code: &Code) -> Invocation<InterceptorId> {
        let (structure, code) = (Arc::clone(&self.structure), code.clone());
        let generic = self.structure.context.stages.generic();
        match generic.submit("map.add_interceptor", move || structure.add_interceptor(&code)) {
            Ok(added) => Invocation::later(added),
            Err(refused) => Invocation::ready(Err(GridError::Refused(refused))),
        }
    }

    /// Removes an interceptor; false when there was none. An operation that is under way may still meet it.
    pub fn remove_interceptor(&self, id: &InterceptorId) -> bool {
        self.structure.remove_interceptors(|known| known == id) > 0
    }
}

impl MapStructure {
    fn add_interceptor(&self, code: &Code) -> GridResult<InterceptorId> {
        let context = &self.context;
        context.interceptors.add(&context.registry, code, |any| {
            if context.is_destroyed() {
                return Err(GridError::Destroyed { structure: format!("map {}", context.name) });
            }
            self.strands.set_user_code(any);
            Ok(())
        })
    }

    /// Removes those that `leaves` names; how many.
    pub(super) fn remove_interceptors(&self, leaves: impl Fn(&InterceptorId) -> bool) -> usize {
        self.context.interceptors.remove(leaves, |any| self.strands.set_user_code(any))
    }
}
