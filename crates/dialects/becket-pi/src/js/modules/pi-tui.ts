// `pi-tui`: parts of screens, and what they are made of. They give lines and listen to keys wherever they run; what
// needs a terminal of its own comes with becket's screen.
import { room, shelf } from "pi:lazy";

/** Where a component that has the keyboard wants the cursor. */
export const CURSOR_MARKER = "\x1b_pi:c\x07";

/** A cursor that is drawn: the character under it, seen the other way round. */
export const renderFakeCursor = (text: string): string => `\x1b[7m${text}\x1b[27m`;

export const {
  visibleWidth, truncateToWidth, wrapTextWithAnsi, sliceByColumn, stripTerminalSequences, hyperlink, fuzzyMatch,
  fuzzyFilter,
} = room("pi:screen-text");

export const { Key, TUI_KEYBINDINGS } = shelf("pi:screen-keys");
export const {
  matchesKey, parseKey, isKeyRelease, isKeyRepeat, decodeKittyPrintable, setKittyProtocolActive,
  isKittyProtocolActive, KeybindingsManager, getKeybindings, setKeybindings,
} = room("pi:screen-keys");

export const {
  Container, Box, Spacer, Text, TruncatedText, Loader, CancellableLoader, SelectList, SettingsList, isFocusable,
  detectCapabilities, getCapabilities, setCapabilities, setCapabilityOverrides, resetCapabilitiesCache,
  getCellDimensions, setCellDimensions, imageFallback, Image,
} = room("pi:screen-parts");

export const { Input, Editor } = room("pi:screen-editor");
export const { Markdown } = room("pi:screen-markdown");

// The first generation's names for the same.
export {
  TUI_KEYBINDINGS as DEFAULT_EDITOR_KEYBINDINGS, KeybindingsManager as EditorKeybindingsManager,
  getKeybindings as getEditorKeybindings, setKeybindings as setEditorKeybindings,
};
export * from "pi:pi-tui-rest";
