# frozen_string_literal: true

# Emits each different word of a line, how often it is there, and the line's number.

require_relative 'stormring'

# What Python takes for white space; Ruby's own split knows only ASCII.
SPACE = /[\t-\r\u001c-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/.freeze

class Split < Storm::BasicBolt
  def process(tup)
    text, line = tup.values
    counts = Hash.new(0)
    text.split(SPACE).each { |word| counts[word] += 1 unless word.empty? }
    counts.each { |word, times| emit([word, times, line]) }
  end
end

Split.new.run
