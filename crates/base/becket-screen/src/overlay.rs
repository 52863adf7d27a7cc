//! Overlays: where they are, which of them are visible, and which has the keys.
//!
//! The terminal owns the text below an overlay, and only the terminal could restore it. So overlays are painted on the
//! alternate screen, over a picture of the ordinary one; what is printed meanwhile is in the picture, and in the
//! scrollback afterwards.

use std::sync::Arc;

use crate::component::{Area, Component};
use crate::live::{Frame, Size};
use crate::text::TextRow;

/// A number of rows or columns, or a percentage of the screen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Extent {
    Cells(i64),
    Percent(f64),
}

impl Extent {
    /// Reads `40` or `50%`.
    pub fn parse(text: &str) -> Option<Self> {
        match text.strip_suffix('%') {
            Some(percent) => percent
                .parse::<f64>()
                .ok()
                .filter(|percent| percent.is_finite() && *percent >= 0.0)
                .map(Self::Percent),
            None => text.parse().ok().map(Self::Cells),
        }
    }

    fn of(self, whole: i64) -> i64 {
        match self {
            Self::Cells(cells) => cells,
            Self::Percent(percent) => (whole as f64 * percent / 100.0).floor() as i64,
        }
    }
}

/// The point of the screen to which an overlay is anchored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Anchor {
    #[default]
    Center,
    TopLeft,
    TopRight,
    BottomLeft,
    BottomRight,
    TopCenter,
    BottomCenter,
    LeftCenter,
    RightCenter,
}

impl Anchor {
    /// Reads `top-left` and the like.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "center" => Self::Center,
            "top-left" => Self::TopLeft,
            "top-right" => Self::TopRight,
            "bottom-left" => Self::BottomLeft,
            "bottom-right" => Self::BottomRight,
            "top-center" => Self::TopCenter,
            "bottom-center" => Self::BottomCenter,
            "left-center" => Self::LeftCenter,
            "right-center" => Self::RightCenter,
            _ => return None,
        })
    }

    fn row(self, room: i64) -> i64 {
        match self {
            Self::TopLeft | Self::TopCenter | Self::TopRight => 0,
            Self::BottomLeft | Self::BottomCenter | Self::BottomRight => room,
            Self::LeftCenter | Self::Center | Self::RightCenter => room.div_euclid(2),
        }
    }

    fn column(self, room: i64) -> i64 {
        match self {
            Self::TopLeft | Self::LeftCenter | Self::BottomLeft => 0,
            Self::TopRight | Self::RightCenter | Self::BottomRight => room,
            Self::TopCenter | Self::Center | Self::BottomCenter => room.div_euclid(2),
        }
    }
}

/// Rows and columns at the edges that stay free.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Margin {
    pub top: i64,
    pub right: i64,
    pub bottom: i64,
    pub left: i64,
}

impl Margin {
    /// A margin of this many cells on all sides.
    pub fn all(cells: i64) -> Self {
        Self {
            top: cells,
            right: cells,
            bottom: cells,
            left: cells,
        }
    }
}

/// Whether an overlay is visible on a terminal of this size.
pub type Visible = Arc<dyn Fn(Size) -> bool + Send + Sync>;

/// The position and size of an overlay.
#[derive(Clone, Default)]
pub struct OverlayOptions {
    pub anchor: Anchor,
    /// The width; 80 columns by default, if there is room.
    pub width: Option<Extent>,
    pub min_width: Option<i64>,
    pub max_height: Option<Extent>,
    /// The row, in place of the anchor. A percentage is a part of the space that the overlay leaves.
    pub row: Option<Extent>,
    pub column: Option<Extent>,
    pub offset_x: i64,
    pub offset_y: i64,
    pub margin: Margin,
    pub visible: Option<Visible>,
    /// Whether the overlay leaves the keys where they were.
    pub non_capturing: bool,
}

/// The position of an overlay on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverlayPosition {
    pub row: usize,
    pub column: usize,
    pub width: usize,
    pub max_height: Option<usize>,
}

impl OverlayOptions {
    /// The position of an overlay with this many rows.
    pub fn place(&self, height: usize, size: Size) -> OverlayPosition {
        let (columns, rows) = (size.columns as i64, size.rows as i64);
        let margin = Margin {
            top: self.margin.top.max(0),
            right: self.margin.right.max(0),
            bottom: self.margin.bottom.max(0),
            left: self.margin.left.max(0),
        };
        let free_columns = (columns - margin.left - margin.right).max(1);
        let free_rows = (rows - margin.top - margin.bottom).max(1);
        let width = self.width.map_or(free_columns.min(80), |width| width.of(columns));
        let width = width.max(self.min_width.unwrap_or(1)).clamp(1, free_columns);
        let max_height = self.max_height.map(|height| height.of(rows).clamp(1, free_rows));
        let height = max_height.map_or(height as i64, |most| most.min(height as i64));

        let row = match self.row {
            Some(Extent::Cells(row)) => row,
            Some(part) => margin.top + part.of((free_rows - height).max(0)),
            None => margin.top + self.anchor.row(free_rows - height),
        };
        let column = match self.column {
            Some(Extent::Cells(column)) => column,
            Some(part) => margin.left + part.of((free_columns - width).max(0)),
            None => margin.left + self.anchor.column(free_columns - width),
        };
        let row = (row + self.offset_y)
            .min(rows - margin.bottom - height)
            .max(margin.top);
        let column = (column + self.offset_x)
            .min(columns - margin.right - width)
            .max(margin.left);
        OverlayPosition {
            row: row as usize,
            column: column as usize,
            width: width as usize,
            max_height: max_height.map(|height| height as usize),
        }
    }
}

/// The number of an overlay.
pub(crate) type Id = u64;

struct Overlay {
    id: Id,
    component: Box<dyn Component>,
    options: OverlayOptions,
    hidden: bool,
    /// The overlay that had the keys before this one.
    before: Option<Id>,
    /// The stacking order; later ones are in front.
    order: u64,
}

impl Overlay {
    fn is_seen(&self, size: Size) -> bool {
        !self.hidden && self.options.visible.as_ref().is_none_or(|visible| visible(size))
    }
}

/// All overlays. One of them has the focus, or none: then keys go to the editor's place.
#[derive(Default)]
pub(crate) struct Overlays {
    shown: Vec<Overlay>,
    focus: Option<Id>,
    orders: u64,
}

impl Overlays {
    pub fn add(&mut self, id: Id, component: Box<dyn Component>, options: OverlayOptions) {
        self.orders += 1;
        let overlay = Overlay {
            id,
            component,
            options,
            hidden: false,
            before: self.focus,
            order: self.orders,
        };
        if !overlay.options.non_capturing {
            self.focus = Some(id);
        }
        self.shown.push(overlay);
    }

    pub fn remove(&mut self, id: Id, size: Size) -> Option<Box<dyn Component>> {
        let place = self.shown.iter().position(|overlay| overlay.id == id)?;
        let gone = self.shown.remove(place);
        if self.focus == Some(id) {
            self.focus = self.topmost(size, id).or(gone.before);
        }
        Some(gone.component)
    }

    pub fn hide(&mut self, id: Id, hidden: bool, size: Size) {
        self.orders += 1;
        let order = self.orders;
        let Some(overlay) = self.find(id).filter(|overlay| overlay.hidden != hidden) else {
            return;
        };
        overlay.hidden = hidden;
        let before = overlay.before;
        if hidden {
            if self.focus == Some(id) {
                self.focus = self.topmost(size, id).or(before);
            }
        } else if !overlay.options.non_capturing {
            overlay.order = order;
            self.focus = Some(id);
        }
    }

    /// Gives an overlay the keys and puts it in front.
    pub fn focus(&mut self, id: Id, size: Size) {
        self.orders += 1;
        let order = self.orders;
        if let Some(overlay) = self.find(id).filter(|overlay| overlay.is_seen(size)) {
            overlay.order = order;
            self.focus = Some(id);
        }
    }

    /// Takes the keys from an overlay, for the one behind it or the previous holder.
    pub fn unfocus(&mut self, id: Id, size: Size) {
        let before = self.find(id).and_then(|overlay| overlay.before);
        if self.focus == Some(id) {
            self.focus = self.topmost(size, id).or(before);
        }
    }

    /// Takes the keys from all overlays, for a dialog in the editor's place.
    pub fn release_focus(&mut self) {
        self.focus = None;
    }

    /// Gives the keys back to the foremost overlay that wants them, after a dialog.
    pub fn regain_focus(&mut self, size: Size) {
        self.focus = self.topmost(size, Id::MAX);
    }

    pub fn has_focus(&self, id: Id, size: Size) -> bool {
        self.holder(size) == Some(id)
    }

    pub fn is_hidden(&self, id: Id) -> bool {
        self.shown
            .iter()
            .any(|overlay| overlay.id == id && overlay.hidden)
    }

    pub fn any_seen(&self, size: Size) -> bool {
        self.shown.iter().any(|overlay| overlay.is_seen(size))
    }

    /// The component that has the keys.
    pub fn focused(&mut self, size: Size) -> Option<&mut Box<dyn Component>> {
        let id = self.holder(size)?;
        self.find(id).map(|overlay| &mut overlay.component)
    }

    /// The overlay that has the keys. A hidden one that wants them gets them back when it is visible; until then
    /// another one has them.
    fn holder(&self, size: Size) -> Option<Id> {
        let wanted = self.shown.iter().find(|overlay| Some(overlay.id) == self.focus)?;
        if wanted.is_seen(size) {
            return Some(wanted.id);
        }
        let is_seen = |id: &Id| {
            let mut others = self.shown.iter();
            others.any(|overlay| overlay.id == *id && overlay.is_seen(size))
        };
        self.topmost(size, wanted.id).or(wanted.before.filter(is_seen))
    }

    pub fn components(&self) -> impl Iterator<Item = &dyn Component> {
        self.shown.iter().map(|overlay| overlay.component.as_ref())
    }

    /// Draws all visible overlays on top of a picture of the screen, the foremost last.
    pub fn cover(&mut self, mut picture: Frame, size: Size) -> Frame {
        picture.rows.resize(size.rows, TextRow::default());
        let holder = self.holder(size);
        let mut seen: Vec<&mut Overlay> = self
            .shown
            .iter_mut()
            .filter(|overlay| overlay.is_seen(size))
            .collect();
        seen.sort_by_key(|overlay| overlay.order);
        for overlay in seen {
            let focused = holder == Some(overlay.id);
            let OverlayPosition {
                width, max_height, ..
            } = overlay.options.place(0, size);
            let area = Area {
                width,
                height: max_height.unwrap_or(size.rows),
                focused,
            };
            let mut lines = overlay.component.render(area);
            lines.truncate(max_height.unwrap_or(usize::MAX));
            let place = overlay.options.place(lines.len(), size);
            if focused {
                picture.rows.iter_mut().for_each(|row| row.cursor = None);
            }
            for (line, row) in lines.iter().zip(picture.rows.iter_mut().skip(place.row)) {
                let mut over = TextRow::read(line).clipped(width);
                over.cursor = over.cursor.filter(|_| focused);
                let cursor = over.cursor.map(|column| column + place.column).or(row.cursor);
                *row = row.covered(&over, place.column, width);
                row.cursor = cursor;
            }
        }
        picture
    }

    fn find(&mut self, id: Id) -> Option<&mut Overlay> {
        self.shown.iter_mut().find(|overlay| overlay.id == id)
    }

    /// The last visible overlay that wants keys, except for `but`.
    fn topmost(&self, size: Size, but: Id) -> Option<Id> {
        let wanted =
            |overlay: &&Overlay| overlay.id != but && !overlay.options.non_capturing && overlay.is_seen(size);
        self.shown.iter().rev().find(wanted).map(|overlay| overlay.id)
    }
}
