// The names of pi-tui that becket does not serve yet. Each can be imported, and says so when it is used.
import { later } from "pi:lazy";

export const {
  CombinedAutocompleteProvider, HStack, Marked, MouseRegion, ProcessTerminal, ScrollView, StdinBuffer, TUI,
  TuiAltScreen, TuiMainScreen, VStack, allocateImageId, backgroundAnsi, calculateImageRows, colorToHex, colorToOkhsl,
  colorToOklch, colorToRgb, compositeTuiLine, deleteAllKittyImages, deleteKittyImage, encodeITerm2, encodeKitty,
  foregroundAnsi, formatProgramStatus, getGifDimensions, getImageDimensions, getJpegDimensions, getNativeClipboard,
  getOsc8LinkAtColumn, getPngDimensions, getSelectPageIndex, getTerminalColorMode, getWebpDimensions, indexedColor,
  isAppleTerminalSession, isViewportTUI, mixColors, okhslColor, oklabToOkhslLightness, oklchColor, parseColor,
  parseOsc11BackgroundColor, parseTerminalColorSchemeReport, renderImage, renderLatex, replaceControlCharacters,
  rgbColor, setImageTranscoder, styleText, styleTextWithAnsi,
} = later;
