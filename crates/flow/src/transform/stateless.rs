//! Transforms without a memory: map, filter, flat_map, inspect.

use super::{FUEL, Receiver, Recipe, Transform};
use crate::processor::Share;

/// Puts a function's answer for every item.
#[derive(Debug, Clone)]
pub struct Mapping<F>(pub F);

impl<A, B, F> Transform<A> for Mapping<F>
where
    B: Send + 'static,
    F: FnMut(A) -> B + Send + 'static,
{
    type Out = B;
    const AT_MOST_ONE: bool = true;

    #[inline(always)]
    fn push<R: Receiver<B>>(&mut self, item: A, to: &mut R) {
        to.put((self.0)(item));
    }
}

impl<A, B, F> Recipe<A> for Mapping<F>
where
    B: Send + 'static,
    F: FnMut(A) -> B + Clone + Send + Sync + 'static,
{
    type Out = B;
    type Transform = Self;

    fn transform(&self, _: Share) -> Self {
        self.clone()
    }

    fn describe(&self, steps: &mut Vec<&'static str>) {
        steps.push("map");
    }
}

/// Puts the items that a function says true of.
#[derive(Debug, Clone)]
pub struct Filtering<F>(pub F);

impl<A, F> Transform<A> for Filtering<F>
where
    A: Send + 'static,
    F: FnMut(&A) -> bool + Send + 'static,
{
    type Out = A;
    const AT_MOST_ONE: bool = true;

    #[inline(always)]
    fn push<R: Receiver<A>>(&mut self, item: A, to: &mut R) {
        if (self.0)(&item) {
            to.put(item);
        }
    }
}

impl<A, F> Recipe<A> for Filtering<F>
where
    A: Send + 'static,
    F: FnMut(&A) -> bool + Clone + Send + Sync + 'static,
{
    type Out = A;
    type Transform = Self;

    fn transform(&self, _: Share) -> Self {
        self.clone()
    }

    fn describe(&self, steps: &mut Vec<&'static str>) {
        steps.push("filter");
    }
}

/// Shows every item to a function and puts it unchanged.
#[derive(Debug, Clone)]
pub struct Inspecting<F>(pub F);

impl<A, F> Transform<A> for Inspecting<F>
where
    A: Send + 'static,
    F: FnMut(&A) + Send + 'static,
{
    type Out = A;
    const AT_MOST_ONE: bool = true;

    #[inline(always)]
    fn push<R: Receiver<A>>(&mut self, item: A, to: &mut R) {
        (self.0)(&item);
        to.put(item);
    }
}

impl<A, F> Recipe<A> for Inspecting<F>
where
    A: Send + 'static,
    F: FnMut(&A) + Clone + Send + Sync + 'static,
{
    type Out = A;
    type Transform = Self;

    fn transform(&self, _: Share) -> Self {
        self.clone()
    }

    fn describe(&self, steps: &mut Vec<&'static str>) {
        steps.push("peek");
    }
}

/// Puts everything that a function yields for an item.
#[derive(Debug, Clone)]
pub struct FlatMapping<F>(pub F);

/// The transform of [`FlatMapping`]: the function, and what is left of the last item.
pub struct FlatMappingTransform<F, I> {
    map: F,
    current: Option<I>,
    fuel: usize,
}

impl<F, I: Iterator> FlatMappingTransform<F, I> {
    #[inline(always)]
    fn go_on<R: Receiver<I::Item>>(&mut self, mut items: I, to: &mut R) {
        while self.fuel > 0 && !to.is_full() {
            let Some(item) = items.next() else { return };
            self.fuel -= 1;
            to.put(item);
        }
        self.current = Some(items);
    }
}

impl<A, I, F> Transform<A> for FlatMappingTransform<F, I::IntoIter>
where
    I: IntoIterator,
    I::IntoIter: Send + 'static,
    I::Item: Send + 'static,
    F: FnMut(A) -> I + Send + 'static,
{
    type Out = I::Item;
    const AT_MOST_ONE: bool = false;

    #[inline(always)]
    fn push<R: Receiver<I::Item>>(&mut self, item: A, to: &mut R) {
        let items = (self.map)(item).into_iter();
        self.go_on(items, to);
    }

    #[inline(always)]
    fn is_suspended(&self) -> bool {
        self.current.is_some()
    }

    fn resume<R: Receiver<I::Item>>(&mut self, to: &mut R) -> bool {
        self.fuel = FUEL;
        if let Some(items) = self.current.take() {
            self.go_on(items, to);
        }
        self.current.is_none()
    }

    fn finish<R: Receiver<I::Item>>(&mut self, to: &mut R) -> bool {
        self.resume(to)
    }
}

impl<A, I, F> Recipe<A> for FlatMapping<F>
where
    I: IntoIterator,
    I::IntoIter: Send + 'static,
    I::Item: Send + 'static,
    F: FnMut(A) -> I + Clone + Send + Sync + 'static,
{
    type Out = I::Item;
    type Transform = FlatMappingTransform<F, I::IntoIter>;

    fn transform(&self, _: Share) -> Self::Transform {
        FlatMappingTransform { map: self.0.clone(), current: None, fuel: FUEL }
    }

    fn describe(&self, steps: &mut Vec<&'static str>) {
        steps.push("flat_map");
    }
}
