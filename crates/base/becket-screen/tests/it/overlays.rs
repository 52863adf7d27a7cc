//! The positions of overlays.

use becket_screen::{Anchor, Extent, Margin, OverlayOptions, OverlayPosition, Size};
use proptest::prelude::*;

const SIZE: Size = Size {
    columns: 100,
    rows: 40,
};

fn at(options: OverlayOptions, height: usize) -> (usize, usize, usize) {
    let OverlayPosition {
        row, column, width, ..
    } = options.place(height, SIZE);
    (row, column, width)
}

#[test]
fn anchors_widths_margins_and_offsets_count() {
    let with = |change: fn(&mut OverlayOptions)| {
        let mut options = OverlayOptions {
            width: Some(Extent::Cells(40)),
            ..OverlayOptions::default()
        };
        change(&mut options);
        at(options, 10)
    };
    assert_eq!(at(OverlayOptions::default(), 10), (15, 10, 80));
    assert_eq!(with(|_| {}), (15, 30, 40));
    assert_eq!(with(|o| o.anchor = Anchor::TopLeft), (0, 0, 40));
    assert_eq!(with(|o| o.anchor = Anchor::BottomRight), (30, 60, 40));
    assert_eq!(with(|o| o.anchor = Anchor::RightCenter), (15, 60, 40));
    assert_eq!(with(|o| o.width = Some(Extent::Percent(50.0))), (15, 25, 50));
    assert_eq!(with(|o| o.min_width = Some(60)), (15, 20, 60));
    assert_eq!(with(|o| o.row = Some(Extent::Cells(3))), (3, 30, 40));
    assert_eq!(with(|o| o.row = Some(Extent::Percent(100.0))), (30, 30, 40));
    assert_eq!(with(|o| o.column = Some(Extent::Percent(0.0))), (15, 0, 40));
    assert_eq!(with(|o| o.offset_x = -8), (15, 22, 40));
    assert_eq!(with(|o| o.offset_y = 1000), (30, 30, 40));
    assert_eq!(with(|o| o.margin = Margin::all(5)), (15, 30, 40));
    assert_eq!(
        with(|o| {
            o.anchor = Anchor::TopLeft;
            o.margin = Margin::all(5);
        }),
        (5, 5, 40)
    );
    assert_eq!(with(|o| o.max_height = Some(Extent::Percent(10.0))), (18, 30, 40));
}

#[test]
fn values_are_read() {
    assert_eq!(Extent::parse("40"), Some(Extent::Cells(40)));
    assert_eq!(Extent::parse("33.3%"), Some(Extent::Percent(33.3)));
    assert_eq!(Extent::parse("x%"), None);
    assert_eq!(Extent::parse("-1%"), None);
    assert_eq!(Anchor::parse("left-center"), Some(Anchor::LeftCenter));
    assert_eq!(Anchor::parse("middle"), None);
}

proptest! {
    /// Whatever its options, an overlay is at least a column wide and begins on the screen.
    #[test]
    fn an_overlay_begins_on_the_screen(
        columns in 1..200usize, rows in 1..80usize, height in 0..100usize,
        width in prop::option::of(-5..300i64), min in prop::option::of(-5..300i64),
        (x, y) in (-300..300i64, -300..300i64), margin in -5..50i64,
    ) {
        let options = OverlayOptions {
            width: width.map(Extent::Cells),
            min_width: min,
            max_height: Some(Extent::Percent(100.0)),
            offset_x: x,
            offset_y: y,
            margin: Margin::all(margin),
            ..OverlayOptions::default()
        };
        let place = options.place(height, Size { columns, rows });
        prop_assert!(place.width >= 1);
        prop_assert!(place.width <= columns);
        prop_assert!(place.row <= rows.max(margin.max(0) as usize));
    }
}
