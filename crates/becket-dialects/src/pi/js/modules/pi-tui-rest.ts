// The names of pi-tui that becket does not serve yet. Each can be imported, and says so when it is used.
import { later } from "pi:lazy";

export const {
  CombinedAutocompleteProvider, HStack, Image, Marked, MouseRegion, ProcessTerminal, ScrollView, StdinBuffer, TUI,
  TuiAltScreen, TuiMainScreen, VStack, allocateImageId, calculateImageRows, compositeTuiLine, deleteAllKittyImages,
  deleteKittyImage, encodeITerm2, encodeKitty, getGifDimensions, getImageDimensions, getJpegDimensions,
  getNativeClipboard, getOsc8LinkAtColumn, getPngDimensions, getWebpDimensions, isViewportTUI,
  parseOsc11BackgroundColor, parseTerminalColorSchemeReport, renderImage, renderLatex,
} = later;
