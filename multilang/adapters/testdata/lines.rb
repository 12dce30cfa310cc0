require_relative 'stormring'

class Lines < Storm::Spout
  def open(conf, _context)
    @todo = (0...conf['test.lines']).to_a
  end

  def nextTuple
    emit(['the cow jumped over the moon'], id: ['line', @todo.pop]) unless @todo.empty?
  end

  def fail(id)
    @todo << id[1]
  end
end

Lines.new.run
